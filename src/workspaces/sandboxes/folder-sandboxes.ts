import { Injectable } from '@nestjs/common';
import type { OutputChunk, SandboxLimits, SandboxResult } from '#libs/sandbox/index.js';
import { Unavailable } from '../../platform/errors/index.js';
import { WorkspaceFolders } from '../core/index.js';
import { type EgressList, EgressSockets, type OpenEgress } from '../egress/index.js';
import { Isolation } from './isolation.js';
import { NpmPrograms } from './npm-programs.js';
import { RunningSandboxes } from './running-sandboxes.js';
import type { SandboxCaller } from './running-sandboxes.store.js';
import { SYSTEM_PATH, type WorkspaceRef } from './sandboxes.service.js';

/** Work on a folder of the service that belongs to the account of a workspace and lies outside of its files. */
export interface FolderWork {
  /** An absolute path; seen inside as `/workspace`. */
  readonly folder: string;
  /** For bash; its parameters are `args`. */
  readonly script: string;
  readonly args?: readonly string[];
  /** What the list of sandboxes shows. */
  readonly command: string;
  readonly caller: SandboxCaller;
  readonly env?: Record<string, string>;
  readonly limits: Partial<SandboxLimits>;
  /** What it reaches; nothing where that is absent or empty. */
  readonly egress?: EgressList;
  readonly signal: AbortSignal;
  readonly onOutput?: (chunk: OutputChunk) => void;
}

export interface FolderResult extends SandboxResult {
  /** In sentences. */
  readonly egress_refused: string[];
}

/** Runs work of the service on folders of its own, with Node.js and npm, as the account of a workspace. */
@Injectable()
export class FolderSandboxes {
  constructor(
    private readonly isolation: Isolation,
    private readonly npm: NpmPrograms,
    private readonly egress: EgressSockets,
    private readonly folders: WorkspaceFolders,
    private readonly running: RunningSandboxes,
  ) {}

  /** 503 where no sandbox can be had. */
  async run(workspace: WorkspaceRef, work: FolderWork): Promise<FolderResult> {
    const { driver, nodeFolder } = this.isolation;
    const check = await driver.check();
    if (!check.ok) throw new Unavailable(`Code cannot run here: ${check.reason}`);
    const { folder, command, caller, limits, signal, onOutput } = work;
    const owner = this.folders.ownerOf(workspace);
    const npm = await this.npm.open();
    let egress: OpenEgress | undefined;
    try {
      egress = await this.openEgress(workspace, work);
      const path = [...(npm.folder ? [npm.folder] : []), nodeFolder, ...SYSTEM_PATH];
      const prelude = egress ? `${egress.start(`${nodeFolder}/node`)}; ` : '';
      const started = { workspaceId: workspace.id, command, caller, kind: 'command', signal } as const;
      const result = await this.running.showing(started, (signal, onStarted) =>
        driver.run({
          workspace: folder,
          owner,
          limits,
          signal,
          onStarted,
          onOutput,
          argv: [
            'bash',
            '-c',
            `${prelude}exec bash -c "$@"`,
            'bash',
            work.script,
            'bash',
            ...(work.args ?? []),
          ],
          env: { ...egress?.env, ...work.env, PATH: path.join(':') },
          readOnlyBinds: [...(egress?.binds ?? []), ...npm.readOnlyBinds],
        }),
      );
      return { ...result, egress_refused: egress?.takeRefused() ?? [] };
    } finally {
      await Promise.all([egress?.close(), npm.close()]);
    }
  }

  /** The size of a folder that code may change at the same time, in bytes; null where it cannot be measured. */
  async bytesOf(workspace: WorkspaceRef, folder: string, signal: AbortSignal): Promise<number | null> {
    const { exit_code, stdout } = await this.isolation.driver.run({
      workspace: folder,
      owner: this.folders.ownerOf(workspace),
      signal,
      argv: ['du', '-s', '-B1', '.'],
      limits: MEASURING,
    });
    const bytes = Number.parseInt(stdout, 10);
    // What is removed while it is measured makes it say 1.
    return (exit_code === 0 || exit_code === 1) && Number.isFinite(bytes) ? bytes : null;
  }

  private async openEgress(
    workspace: WorkspaceRef,
    { egress: list, caller }: FolderWork,
  ): Promise<OpenEgress | undefined> {
    // Without isolation there is a network already.
    if (!list || !this.isolation.driver.isolated) return undefined;
    const owner = this.folders.ownerOf(workspace);
    return this.egress.open({ workspaceId: workspace.id, owner, caller }, { credentials: [], ...list });
  }
}

const MEASURING = { wallMs: 30_000, cpuSeconds: 30, outputBytes: 4096 };
