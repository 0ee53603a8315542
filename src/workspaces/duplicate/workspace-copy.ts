import { Injectable } from '@nestjs/common';
import { ConcurrencyLimit } from '#libs/concurrency-limit/index.js';
import { batchesOf, type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { newId, type UnitOfWork } from '../../platform/database/index.js';
import { Jobs } from '../../platform/jobs/index.js';
import { removeFolder, WorkspaceFolders, WorkspacesStore } from '../core/index.js';
import { captureHistory } from '../history/index.js';
import { type Operation, type OperationWork, type Report } from '../operations/index.js';
import { type Copied, copyBatch } from './copy-batch.js';
import { type DuplicateInput, workspaceDuplicate } from './duplicate.service.js';

const LEFT_BEHIND = [
  'members',
  'chats and their runs',
  'share links',
  'file invitations',
  'hosts that sandboxes may connect to',
  'earlier versions of files',
];
const PROGRESS_MS = 500;
const BATCH = { files: 128, bytes: 16 * 1024 * 1024 };
const CONCURRENCY = 2;

type Duplicate = Operation<DuplicateInput>;
/** Copies the files of one workspace into another; idempotent: it resumes after a crash. */
@Injectable()
export class WorkspaceCopy implements OperationWork<DuplicateInput> {
  readonly kind = workspaceDuplicate;
  private readonly limit = new ConcurrencyLimit(CONCURRENCY);

  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
    private readonly jobs: Jobs,
  ) {}

  async perform(operation: Duplicate, report: Report, signal: AbortSignal) {
    const whose = [operation.organization_id, operation.actor_id];
    await this.limit.run(() => this.copyAll(operation, report, signal), { whose, signal });
    return { workspace_id: operation.input.target_id };
  }

  async complete(unit: UnitOfWork, { input: { target_id, visibility } }: Duplicate): Promise<void> {
    await this.workspaces.update(unit, target_id, { visibility });
    await this.jobs.enqueue(unit, captureHistory, newId(), { workspace_id: target_id });
  }

  async undo(unit: UnitOfWork, { input: { target_id } }: Duplicate): Promise<void> {
    await this.jobs.enqueue(unit, removeFolder, newId(), { workspace_id: target_id });
    await this.workspaces.remove(unit, target_id);
  }

  private async copyAll(
    { subject_id, input }: Duplicate,
    report: Report,
    signal: AbortSignal,
  ): Promise<void> {
    const [source, target] = await Promise.all([this.open(subject_id), this.open(input.target_id)]);
    const entries = await source.listAll('');
    const bytes_total = entries.reduce((sum, { size }) => sum + size, 0);
    const copied: Copied = { done: 0, bytes_done: 0, skipped: [...LEFT_BEHIND] };
    const publish = () => report({ ...copied, total: entries.length, bytes_total });
    await publish();
    let reported = Date.now();
    for (const batch of batchesOf(entries, BATCH)) {
      signal.throwIfAborted();
      await copyBatch(source, target, batch, copied);
      if (Date.now() - reported <= PROGRESS_MS) continue;
      await publish();
      reported = Date.now();
    }
    await target.flush();
    await publish();
  }

  private async open(id: string): Promise<WorkspaceFs> {
    const workspace = await this.workspaces.folderOf(id);
    if (!workspace) throw new WorkspaceFsError('not_found', '', 'The workspace was deleted meanwhile');
    return this.folders.open(workspace);
  }
}
