import { Processor } from '@nestjs/bullmq';

import { sql } from 'kysely';
import { batchesOf, type Entry, type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { Database, newId } from '../../platform/database/index.js';
import { type Attempt, FairTurns, JobProcessor, JobQueue } from '../../platform/jobs/index.js';
import { removeFolder, WorkspaceFolders } from '../core/index.js';
import { captureHistory } from '../history/index.js';
import { isOver, type OperationRow, OperationsStore } from '../operations/index.js';
import { OPERATION_QUEUE } from './duplicate.service.js';

/** What never comes along, whether the workspace has it or not. */
const LEFT_BEHIND = [
  'members',
  'chats and their runs',
  'share links',
  'file invitations',
  'hosts that sandboxes may connect to',
  'earlier versions of files',
];
const MOST_SKIPPED = 1000;
const PROGRESS_MS = 500;
/** Copied between two looks at whether to go on. */
const AT_ONCE = { files: 128, bytes: 16 * 1024 * 1024 };
const ATTEMPTS = 5;
const FAILED = 'The copy failed; try again';
/** Copies that one process makes at a time. */
const COPIES_AT_ONCE = 2;
/** Jobs that wait here for their turns, rather than in the queue, which knows no turns. */
const MOST_WAITING = 500;

/** Somebody wants it to end. */
class Cancelled extends Error {}

interface Progress {
  done: number;
  bytes: number;
  skipped: string[];
  savedAt: number;
}

/** Copies the files of one workspace into another; begun again after a crash, it goes on where it was. */
@Processor(OPERATION_QUEUE, {
  concurrency: MOST_WAITING,
  lockDuration: 10_000,
  stalledInterval: 10_000,
  maxStalledCount: 100,
})
export class DuplicateJobs extends JobProcessor<{ operation_id: string }> {
  private readonly turns = new FairTurns(COPIES_AT_ONCE);

  constructor(
    private readonly database: Database,
    private readonly operations: OperationsStore,
    private readonly folders: WorkspaceFolders,
    private readonly jobs: JobQueue,
  ) {
    super();
  }

  protected async perform(
    { operation_id }: { operation_id: string },
    { failures, signal }: Attempt,
  ): Promise<undefined> {
    const operation = await this.operations.find(operation_id);
    if (!operation || isOver(operation)) return;
    const whose = { organizationId: operation.organization_id, personId: operation.actor_id };
    try {
      await this.turns.take(whose, signal, () => this.copyAll(operation, signal));
    } catch (error) {
      if (error instanceof Cancelled) return this.undo(operation, sql`status = 'cancelled'`);
      // A full disk, a workspace that was deleted: no more tries will help.
      const isHopeless = error instanceof WorkspaceFsError && ['no_space', 'not_found'].includes(error.code);
      if (signal.aborted || (!isHopeless && failures + 1 < ATTEMPTS)) throw error;
      await this.fail(operation, error instanceof WorkspaceFsError ? error.message : FAILED);
    }
  }

  protected override async abandon({ operation_id }: { operation_id: string }): Promise<void> {
    const operation = await this.operations.find(operation_id);
    if (operation && !isOver(operation)) await this.fail(operation, FAILED);
  }

  private async copyAll(
    { id, source_id, target_id, visibility }: OperationRow,
    signal: AbortSignal,
  ): Promise<void> {
    const [source, target] = await Promise.all([this.open(source_id), this.open(target_id)]);
    const entries = await everything(source);
    const bytes = entries.reduce((sum, { size }) => sum + size, 0);
    const progress: Progress = { done: 0, bytes: 0, skipped: [...LEFT_BEHIND], savedAt: 0 };
    await this.save(
      id,
      progress,
      sql`status = 'running', total = ${entries.length}, bytes_total = ${bytes},`,
    );
    for (const batch of batchesOf(entries, AT_ONCE)) {
      signal.throwIfAborted();
      await copySome(source, target, batch, progress);
      if (Date.now() - progress.savedAt > PROGRESS_MS) await this.save(id, progress);
    }
    await target.flush();
    await this.save(id, progress);
    await this.database.transaction(async unit => {
      const ended = await this.operations.change(id, sql`status = 'completed', finished_at = now()`, unit);
      if (!ended) return;
      await sql`update workspace set visibility = ${visibility}, updated_at = now() where id = ${target_id}`.execute(
        unit.tables(),
      );
      // What was copied is the beginning of its history.
      await this.jobs.enqueue(unit, captureHistory, newId(), { workspace_id: target_id });
    });
  }

  private async save(id: string, progress: Progress, also = sql``): Promise<void> {
    const { done, bytes, skipped } = progress;
    const row = await this.operations.change(
      id,
      sql`${also} done = ${done}, bytes_done = ${bytes}, skipped = ${JSON.stringify(skipped)}::jsonb`,
    );
    if (!row || row.cancel_requested) throw new Cancelled();
    progress.savedAt = Date.now();
  }

  private fail(operation: OperationRow, why: string): Promise<undefined> {
    return this.undo(operation, sql`status = 'error', error = ${why}`);
  }

  /** Removes what was made so far. */
  private async undo({ id, target_id }: OperationRow, end: ReturnType<typeof sql>): Promise<undefined> {
    await this.database.transaction(async unit => {
      if (!(await this.operations.change(id, sql`${end}, finished_at = now()`, unit))) return;
      await this.jobs.enqueue(unit, removeFolder, newId(), { workspace_id: target_id });
      await sql`delete from workspace where id = ${target_id}`.execute(unit.tables());
    });
  }

  private async open(id: string): Promise<WorkspaceFs> {
    const { rows } = await sql<{ id: string; number: number }>`
      select id, number from workspace where id = ${id}`.execute(this.database.tables());
    const [workspace] = rows;
    if (!workspace) throw new WorkspaceFsError('not_found', '', 'The workspace was deleted meanwhile');
    return this.folders.open(workspace);
  }
}

async function everything(files: WorkspaceFs): Promise<Entry[]> {
  const all: Entry[] = [];
  let after: string | undefined;
  do {
    const { entries, next } = await files.list('', { recursive: true, after });
    all.push(...entries);
    after = next ?? undefined;
  } while (after !== undefined);
  return all;
}

/** All of them are over, well or badly, when it resolves or rejects. */
async function copySome(
  source: WorkspaceFs,
  target: WorkspaceFs,
  entries: Entry[],
  progress: Progress,
): Promise<void> {
  const files = entries.filter(({ type }) => type === 'file');
  const folders = entries.filter(({ type }) => type === 'directory');
  const made = await Promise.allSettled(folders.map(({ path }) => target.mkdir(path)));
  const copied = await target.copyFrom(
    source,
    files.map(({ path }) => path),
  );
  const outcomes = new Map<Entry, PromiseSettledResult<unknown> | undefined>();
  for (const [index, entry] of folders.entries()) outcomes.set(entry, made[index]);
  for (const [index, entry] of files.entries()) outcomes.set(entry, copied[index]);
  for (const entry of entries) {
    if (isLeftOut(outcomes.get(entry)) && progress.skipped.length < MOST_SKIPPED)
      progress.skipped.push(entry.path);
    progress.done++;
    progress.bytes += entry.size;
  }
}

/** Links, special files, what is gone or something else by now, what changes all the time, and what no file may be. */
const LEFT_OUT = [
  'not_found',
  'symlink',
  'not_regular',
  'is_directory',
  'not_directory',
  'exists',
  'busy',
  'too_large',
];

/** Links and special files have no outcome at all; throws for what is nobody's doing. */
function isLeftOut(outcome: PromiseSettledResult<unknown> | undefined): boolean {
  if (outcome?.status !== 'rejected') return outcome === undefined;
  const { reason } = outcome;
  if (reason instanceof WorkspaceFsError && LEFT_OUT.includes(reason.code)) return true;
  throw reason;
}
