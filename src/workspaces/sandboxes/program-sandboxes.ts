import { Injectable } from '@nestjs/common';
import type { EgressRefusal } from '#libs/egress-proxy/index.js';
import type {
  OutputChunk,
  ReadOnlyBind,
  SandboxLimits,
  SandboxResult,
  SandboxUsage,
} from '#libs/sandbox/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Unavailable } from '../../platform/errors/index.js';
import { WORKSPACE_EGRESS } from '../egress/index.js';
import type { ActionSource } from './actions/action-sockets.js';
import { Isolation } from './isolation.js';
import { RunningSandboxes } from './running-sandboxes.js';
import type { SandboxCaller } from './running-sandboxes.store.js';
import { SandboxEnvironments, type WorkspaceRef } from './sandboxes.service.js';

/** A program that runs on the files of a workspace until it ends by itself, or is ended. */
export interface ProgramWork {
  /** For bash. */
  readonly script: string;
  /** Where it begins, relative to the workspace. */
  readonly folder: string;
  readonly caller: SandboxCaller;
  /** As whom the command `actions` acts. */
  readonly actions?: ActionSource;
  /** Whose connections its requests use, and who that is in the ledger; without an actor: none. */
  readonly uses?: { readonly actor: Actor | undefined; readonly caller: SandboxCaller };
  readonly env: Readonly<Record<string, string>>;
  readonly limits: Partial<SandboxLimits>;
  /** A host folder to be shown inside. */
  readonly bind: ReadOnlyBind;
  /**
   * Shell commands to run first, which start `relay` as well: the way out, where there is one.
   *
   * @param inside paths as programs of the sandbox see them
   */
  readonly prelude: (inside: { node: string; bind: string; relay: string | undefined }) => string;
  readonly signal: AbortSignal;
  /** Aborted when another process may run the program; see `Leases`. */
  readonly lease: AbortSignal;
  readonly onOutput: (chunk: OutputChunk) => void;
  /** Told in sentences. */
  readonly onRefusal: (message: string) => void;
  readonly onStarted: (gauge: () => SandboxUsage) => void;
}

/** Runs programs that last, with what every sandbox of a workspace has. */
@Injectable()
export class ProgramSandboxes {
  constructor(
    private readonly isolation: Isolation,
    private readonly environments: SandboxEnvironments,
    private readonly running: RunningSandboxes,
  ) {}

  /** Whether programs see the ports of the host, and the host theirs. */
  get sharesNetwork(): boolean {
    return !this.isolation.driver.isolated;
  }

  /** Resolves when it has ended; 503 where no sandbox can be had. */
  async run(workspace: WorkspaceRef, work: ProgramWork): Promise<SandboxResult> {
    const { driver, nodeFolder } = this.isolation;
    const check = await driver.check();
    if (!check.ok) throw new Unavailable(`Code cannot run here: ${check.reason}`);
    const { script, folder, caller, limits, bind, signal, lease, onOutput, onStarted } = work;
    const { actions, uses } = work;
    const reach = {
      ...WORKSPACE_EGRESS,
      onRefusal: ({ message }: EgressRefusal) => work.onRefusal(message),
    };
    const environment = await this.environments.prepare(workspace, { caller, actions, uses, reach });
    const { request, relay } = environment;
    const inside = driver.isolated ? bind.to : bind.from;
    const prelude = work.prelude({ node: `${nodeFolder}/node`, bind: inside, relay });
    const started = {
      workspaceId: workspace.id,
      command: script,
      caller,
      kind: 'command',
      signal,
      lease,
    } as const;
    try {
      return await this.running.showing(started, (ends, measuredBy) =>
        driver.run({
          ...request,
          cwd: folder === '' ? '.' : folder,
          limits,
          signal: ends,
          onOutput,
          argv: ['bash', '-c', `${prelude}; exec bash -c "$1"`, 'bash', script],
          env: { ...work.env, ...request.env },
          readOnlyBinds: [...(request.readOnlyBinds ?? []), ...(driver.isolated ? [bind] : [])],
          onStarted: gauge => {
            measuredBy(gauge);
            onStarted(gauge);
          },
        }),
      );
    } finally {
      await environment.close();
    }
  }
}
