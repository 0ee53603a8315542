import { Injectable } from '@nestjs/common';
import {
  type LastingResult,
  LastingShell,
  type OpenedSession,
  type OutputChunk,
  type SandboxDriver,
  SandboxFailure,
  SandboxRefusal,
  type SandboxRequest,
  type SandboxResult,
  type SandboxSession,
  SessionOver,
} from '#libs/sandbox/index.js';
import type { Actor } from '../../platform/access/index.js';
import type { ActionCaller } from '../../platform/actions/index.js';
import { Config } from '../../platform/config/index.js';
import { Conflict, Invalid, translateErrors, Unavailable } from '../../platform/errors/index.js';
import { Log } from '../../platform/log/index.js';
import { type VisibleWorkspace, WorkspaceFolders } from '../core/index.js';
import { type EgressList, EgressSockets } from '../egress/index.js';
import { ActionSockets, type ActionSource } from './actions/action-sockets.js';
import { gitIdentityOf } from './git-identity.js';
import { Isolation } from './isolation.js';
import { type Gauge, type NameClaim, RunningSandboxes } from './running-sandboxes.js';
import type { SandboxCaller } from './running-sandboxes.store.js';
import { SandboxSlots } from './sandbox-slots.js';
import { ShownFiles } from './shown-files.js';

translateErrors(SandboxRefusal, error => new Invalid(error.message));
translateErrors(SessionOver, error => new Conflict(error.message));
translateErrors(SandboxFailure, error => new Unavailable(`Code cannot run here: ${error.message}`));

/** Of one process: background processes may live as long as a run. */
const SHELL_CPU_SECONDS = 3600;

export interface ScriptRequest {
  script: string;
  /** For what it runs; absent: the service itself. */
  caller?: SandboxCaller;
  /** Whose connections its requests may use; absent: none. */
  actor?: Actor;
  seconds?: number;
  signal?: AbortSignal;
  actions?: ActionCaller;
  /** Its standard input; absent: an end of file. */
  stdin?: string | Buffer;
  /** Most of its output that is passed on, in bytes. */
  outputBytes?: number;
  /** It only looks: it cannot write to the files, and reaches no host, whatever the workspace may reach. */
  onlyReads?: boolean;
  /** Called when everything is ready, right before the program starts. Where it throws, the program does not start. */
  onReady?: () => Promise<void>;
  onOutput?: (chunk: OutputChunk) => void;
  /** What it reaches; by default what the workspace and its caller may. */
  reach?: EgressList;
  env?: Readonly<Record<string, string>>;
}

export const SYSTEM_PATH = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'];
const ACTIONS_FOLDER = '/run/atelier';

export type WorkspaceRef = Pick<VisibleWorkspace, 'id' | 'number' | 'organization_id'>;

/** For whom a sandbox is made, and what it has besides the files. */
interface SandboxNeeds {
  readonly caller: SandboxCaller;
  readonly actor?: Actor | undefined;
  /** Who uses connections, where that is another. */
  readonly uses?: { readonly actor: Actor | undefined; readonly caller: SandboxCaller } | undefined;
  readonly actions?: ActionSource | undefined;
  readonly reach?: EgressList | undefined;
  readonly onlyReads?: boolean | undefined;
}

/** What every sandbox of a workspace has, until it is closed. */
export interface Environment {
  readonly request: Pick<SandboxRequest, 'workspace' | 'isReadOnly' | 'owner' | 'env' | 'readOnlyBinds'>;
  /** Shell commands to run first. */
  readonly prelude: string;
  /** The module that they run with Node.js, for a program that runs it with its own; undefined where there is no way out. */
  readonly relay: string | undefined;
  /** What the result of a command that has ended says of it. */
  readonly extras: () => RefusedConnections;
  close(): Promise<void>;
}

/** What commands find in a sandbox: the files, the command `actions`, the way to listed hosts. */
@Injectable()
export class SandboxEnvironments {
  constructor(
    private readonly isolation: Isolation,
    private readonly sockets: ActionSockets,
    private readonly egress: EgressSockets,
    private readonly folders: WorkspaceFolders,
    private readonly shownFiles: ShownFiles,
  ) {}

  filesOf(workspace: WorkspaceRef): Pick<SandboxRequest, 'workspace' | 'owner'> {
    return { workspace: this.folders.pathOf(workspace), owner: this.folders.ownerOf(workspace) };
  }

  async prepare(
    workspace: WorkspaceRef,
    { caller, actor, uses = { caller, actor }, actions, reach, onlyReads = false }: SandboxNeeds,
  ): Promise<Environment> {
    const files = this.filesOf(workspace);
    const { owner } = files;
    const { driver, nodeFolder } = this.isolation;
    const { isolated } = driver;
    // Without isolation there is a network already.
    const egress =
      isolated && !onlyReads
        ? await this.egress.open({ workspaceId: workspace.id, owner, ...uses }, reach)
        : undefined;
    const socket = actions && (await this.sockets.open(actions, owner));
    const shown = await this.shownFiles.open(caller, owner, actor && gitIdentityOf(actor));
    const env: Record<string, string> = { ...egress?.env };
    const readOnlyBinds = [...(egress?.binds ?? [])];
    if (socket) {
      const inside = isolated ? ACTIONS_FOLDER : socket.folder;
      env.PATH = [`${inside}/bin`, nodeFolder, ...SYSTEM_PATH].join(':');
      env.ACTIONS_SOCKET = `${inside}/actions.sock`;
      if (isolated) readOnlyBinds.unshift({ from: socket.folder, to: inside });
    }
    for (const {
      folder,
      shown: { to, env: variables },
    } of shown) {
      Object.assign(env, variables(isolated ? to : folder));
      if (isolated) readOnlyBinds.push({ from: folder, to });
    }
    return {
      request: { ...files, isReadOnly: onlyReads, env, readOnlyBinds },
      relay: egress?.relay,
      prelude: egress?.start(`${nodeFolder}/node`) ?? '',
      extras: () => ({ egress_refused: egress?.takeRefused() ?? [] }),
      close: async () => {
        await Promise.all([socket?.close(), egress?.close(), ...shown.map(each => each.close())]);
      },
    };
  }
}

interface RefusedConnections {
  readonly egress_refused: string[];
}

export type ScriptResult = SandboxResult & Partial<LastingResult & RefusedConnections>;

export interface ShellUse {
  readonly caller: SandboxCaller;
  /** Whose connections its requests may use; absent: none. */
  readonly actor?: Actor;
  /** Whom the command `actions` acts as; absent: there is no such command. */
  readonly actions?: ActionCaller;
  /** By which the caller comes back to it. */
  readonly name?: string;
}

export type Shell = LastingShell<WorkspaceRef, RefusedConnections>;

/** Runs code on workspaces, isolated from the host and from each other; refuses where that is impossible. */
@Injectable()
export class SandboxesService {
  private readonly driver: SandboxDriver;

  constructor(
    private readonly config: Config,
    isolation: Isolation,
    private readonly environments: SandboxEnvironments,
    private readonly running: RunningSandboxes,
    private readonly slots: SandboxSlots,
    private readonly log: Log,
  ) {
    this.driver = isolation.driver;
  }

  /** 503 where no sandbox can be had. */
  async runScript(workspace: WorkspaceRef, request: ScriptRequest): Promise<ScriptResult> {
    await this.requireDriver();
    const release = await this.slots.acquire(workspace, request.signal);
    try {
      return await this.runScriptNow(workspace, request);
    } finally {
      release();
    }
  }

  private async runScriptNow(workspace: WorkspaceRef, request: ScriptRequest): Promise<ScriptResult> {
    const { script: command, caller = { kind: 'service', id: null }, signal, stdin, outputBytes } = request;
    const { actor, actions, reach, onlyReads } = request;
    const { memory: memoryBytes, seconds: sandboxSeconds } = this.config.sandboxLimits;
    const seconds = request.seconds ?? sandboxSeconds;
    const environment = await this.environments.prepare(workspace, {
      caller,
      actor,
      actions,
      reach,
      onlyReads,
    });
    const run = (signal: AbortSignal, onStarted: (gauge: Gauge) => void) =>
      this.driver.run({
        ...environment.request,
        env: { ...request.env, ...environment.request.env },
        argv: argvOf(environment.prelude, command),
        limits: {
          memoryBytes,
          wallMs: seconds * 1000,
          cpuSeconds: seconds,
          ...(outputBytes !== undefined && { outputBytes }),
        },
        signal,
        stdin,
        onStarted,
        onOutput: request.onOutput,
      });
    try {
      await request.onReady?.();
      const started = { workspaceId: workspace.id, command, caller, kind: 'command', signal } as const;
      const result = await this.running.showing(started, run);
      return { ...result, ...environment.extras() };
    } finally {
      await environment.close();
    }
  }

  /** The opener ends it. */
  openShell(use: ShellUse): Shell {
    return new LastingShell((workspace, script) => this.openSession(workspace, use, script));
  }

  private async openSession(
    workspace: WorkspaceRef,
    { caller, actor, actions, name }: ShellUse,
    command: string,
  ): Promise<OpenedSession<RefusedConnections>> {
    await this.requireDriver();
    const started = {
      workspaceId: workspace.id,
      command,
      caller,
      kind: 'session',
      signal: undefined,
    } as const;
    const release = await this.slots.acquire(workspace);
    let claim: NameClaim | undefined;
    let environment: Environment | undefined;
    let session: SandboxSession;
    try {
      claim = name === undefined ? undefined : await this.running.claim(started, name);
      environment = await this.environments.prepare(workspace, { caller, actor, actions });
      session = await this.beginSession(environment);
    } catch (error) {
      release();
      await environment?.close();
      await claim?.release();
      throw error;
    }
    const shown = this.running.showing({ ...started, claim }, (stop, measuredBy) => {
      measuredBy(() => session.usage());
      stop.addEventListener('abort', () => void session.end(), { once: true });
      return session.ended;
    });
    void shown
      .finally(release)
      .then(environment.close)
      .catch(error => this.log.warn({ err: error }, 'a session was not cleaned up'));
    return { session, extras: environment.extras };
  }

  private async beginSession({ request, prelude }: Environment): Promise<SandboxSession> {
    const { memory: memoryBytes, seconds: sandboxSeconds } = this.config.sandboxLimits;
    const limits = { memoryBytes, wallMs: sandboxSeconds * 1000, cpuSeconds: SHELL_CPU_SECONDS };
    const session = await this.driver.openSession({ ...request, limits });
    if (prelude !== '') await session.run({ script: prelude });
    return session;
  }

  private async requireDriver(): Promise<void> {
    const fault = await this.fault();
    if (fault !== null) throw new Unavailable(fault);
  }

  /** Null where code can run. */
  async fault(): Promise<string | null> {
    const check = await this.driver.check();
    return check.ok ? null : `Code cannot run here: ${check.reason}`;
  }

  /** Runs a program for the service itself, on a folder of its own; 503 where no sandbox can be had. */
  async runProgram(request: SandboxRequest): Promise<SandboxResult> {
    await this.requireDriver();
    return this.driver.run(request);
  }
}

function argvOf(prelude: string, script: string): string[] {
  if (prelude === '') return ['bash', '-c', script];
  return ['bash', '-c', `${prelude}; exec bash -c "$1"`, 'bash', script];
}
