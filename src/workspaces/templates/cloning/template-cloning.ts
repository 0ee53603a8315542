import { Injectable } from '@nestjs/common';
import { ConcurrencyLimit } from '#libs/concurrency-limit/index.js';
import { batchesOf, type Entry, Glob, type WorkspaceFs } from '#libs/workspace-fs/index.js';
import { newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Jobs } from '../../../platform/jobs/index.js';
import { NoRoom, WorkspaceQuota } from '../../changes/index.js';
import { removeFolder, WorkspaceFolders, WorkspacesStore } from '../../core/index.js';
import { type Copied, copyBatch } from '../../duplicate/index.js';
import { captureHistory } from '../../history/index.js';
import { type Operation, OperationRefused, type OperationWork, type Report } from '../../operations/index.js';
import { render, type Values } from '../records/parameters.js';
import { TemplateFolders } from '../records/template-folders.js';
import { type CloneInput, templateClone } from '../records/template-operations.js';
import { TemplatesStore } from '../records/templates.store.js';

const BATCH = { files: 128, bytes: 16 * 1024 * 1024 };
const CONCURRENCY = 2;
/** Larger files are copied as they are. */
const MAX_RENDERED_BYTES = 1024 * 1024;

type Clone = Operation<CloneInput>;

/** Copies the files of a version into a new workspace, with its parameters filled in; it resumes after a crash. */
@Injectable()
export class TemplateCloning implements OperationWork<CloneInput> {
  readonly kind = templateClone;
  private readonly limit = new ConcurrencyLimit(CONCURRENCY);

  constructor(
    private readonly templates: TemplatesStore,
    private readonly folders: TemplateFolders,
    private readonly workspaces: WorkspacesStore,
    private readonly workspaceFolders: WorkspaceFolders,
    private readonly quota: WorkspaceQuota,
    private readonly jobs: Jobs,
  ) {}

  async perform(operation: Clone, report: Report, signal: AbortSignal) {
    const whose = [operation.organization_id, operation.actor_id];
    await this.limit.run(() => this.copyAll(operation.input, report, signal), { whose, signal });
    return { workspace_id: operation.input.target_id };
  }

  async complete(unit: UnitOfWork, { input: { target_id, visibility } }: Clone): Promise<void> {
    await this.workspaces.update(unit, target_id, { visibility });
    await this.jobs.enqueue(unit, captureHistory, newId(), { workspace_id: target_id });
  }

  async undo(unit: UnitOfWork, { input: { target_id } }: Clone): Promise<void> {
    await this.jobs.enqueue(unit, removeFolder, newId(), { workspace_id: target_id });
    await this.workspaces.remove(unit, target_id);
  }

  private async copyAll(input: CloneInput, report: Report, signal: AbortSignal): Promise<void> {
    const [version, workspace] = await Promise.all([
      this.templates.version(input.version_id),
      this.workspaces.folderOf(input.target_id),
    ]);
    if (!version || !workspace)
      throw new OperationRefused('The template or the workspace was deleted meanwhile');
    const source = this.folders.open(version);
    const target = this.workspaceFolders.open(workspace);
    const entries = await source.listAll('');
    const bytes_total = entries.reduce((sum, { size }) => sum + size, 0);
    await this.requireRoom(input.target_id, { bytes: bytes_total, files: entries.length });
    const globs = (version.manifest.render ?? []).map(pattern => new Glob(pattern));
    const isRendered = ({ path, type, size }: Entry) =>
      type === 'file' && size <= MAX_RENDERED_BYTES && globs.some(glob => glob.matches(path));
    const copied: Copied = { done: 0, bytes_done: 0, skipped: [...input.skipped, ...version.skipped] };
    const publish = () => report({ ...copied, total: entries.length, bytes_total });
    await publish();
    for (const batch of batchesOf(entries, BATCH)) {
      signal.throwIfAborted();
      const plain = batch.filter(entry => !isRendered(entry));
      await copyBatch(source, target, plain, copied);
      for (const entry of batch.filter(isRendered)) {
        await renderFile(source, target, entry.path, input.values);
        copied.done++;
        copied.bytes_done += entry.size;
      }
      await publish();
    }
    await target.flush();
  }

  private async requireRoom(id: string, more: { bytes: number; files: number }): Promise<void> {
    try {
      await this.quota.require(id, more);
    } catch (error) {
      if (error instanceof NoRoom) throw new OperationRefused(error.detail);
      throw error;
    }
  }
}

async function renderFile(
  source: WorkspaceFs,
  target: WorkspaceFs,
  path: string,
  values: Values,
): Promise<void> {
  const bytes = await source.readBytes(path, MAX_RENDERED_BYTES);
  const text = bytes.toString('utf8');
  // A file that is not UTF-8 stays as it is.
  const isText = Buffer.from(text).equals(bytes);
  await target.write(path, isText ? Buffer.from(render(text, values)) : bytes);
}
