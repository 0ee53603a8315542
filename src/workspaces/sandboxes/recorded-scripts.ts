import { statSync } from 'node:fs';
import { Injectable } from '@nestjs/common';
import { QuotaGuard, SandboxWatch, WorkspaceQuota, type Writer } from '../changes/index.js';
import { WorkspaceFolders } from '../core/index.js';
import { RunningSandboxes } from './running-sandboxes.js';
import type { ScriptResult, Shell, WorkspaceRef } from './sandboxes.service.js';

interface Recording {
  /** Whose changes they are. */
  readonly writer: Writer;
  /** Most that it takes. */
  readonly seconds: number;
  readonly signal: AbortSignal;
  readonly shell?: Shell;
}

/** Runs scripts on workspaces within their quota, and writes down what they change. */
@Injectable()
export class RecordedScripts {
  constructor(
    private readonly watch: SandboxWatch,
    private readonly quota: WorkspaceQuota,
    private readonly running: RunningSandboxes,
    private readonly folders: WorkspaceFolders,
  ) {}

  /** `run` gets a signal that is aborted, too, when the workspace is full; `refusal` says so then. */
  async run<T = ScriptResult>(
    workspace: WorkspaceRef,
    { writer, seconds, signal, shell }: Recording,
    run: (signal: AbortSignal) => Promise<T>,
  ) {
    // Over its quota, a workspace runs nothing that could write more.
    await this.quota.require(workspace.id, { bytes: 0, files: 0 });
    const guard = new QuotaGuard(this.quota, workspace.id, () => this.unlinkedBytes(workspace));
    const until = AbortSignal.any([signal, guard.signal]);
    const { result, changes } = await this.watch
      .around(workspace.id, writer, seconds, () => run(until), shell)
      .finally(() => guard.release());
    this.quota.expire(workspace.id);
    return { result, changes, refusal: guard.refusal };
  }

  /** What commands hold in files of a workspace that they have deleted and not closed. */
  private unlinkedBytes(workspace: WorkspaceRef): number {
    const folder = statSync(this.folders.pathOf(workspace), { bigint: true, throwIfNoEntry: false });
    return folder ? this.running.unlinkedBytes(workspace.id, folder.dev) : 0;
  }
}
