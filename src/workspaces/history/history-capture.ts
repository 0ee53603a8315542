import { Injectable } from '@nestjs/common';
import { ConcurrencyLimit } from '#libs/concurrency-limit/index.js';
import type { Reading } from '#libs/git-history/index.js';
import { QUERY_MS, withQueryDeadline } from '#libs/resilient-postgres/index.js';
import type { Entry, WorkspaceFs } from '#libs/workspace-fs/index.js';
import { Config } from '../../platform/config/index.js';
import { Database, dryRun, type UnitOfWork } from '../../platform/database/index.js';
import { Log } from '../../platform/log/index.js';
import { RecordedWrites } from '../changes/index.js';
import { WorkspaceFolders } from '../core/index.js';
import { firstBytes, untilOverwritten } from './change-batches.js';
import { type Draft, draftsOf, isSkipped } from './draft.js';
import { draftOfFound, foundAfter } from './found-files.js';
import { GitStore, type RepositoryOf } from './git-store.js';
import { copyOf, KeptCopies } from './kept-copies.js';
import { readAsLogged, type SeenAs } from './read-as-logged.js';
import { type Progress, VersionsStore } from './versions.store.js';

/** Limits of one commit. */
const MAX_CHANGES = 20_000;
/** Each holds a connection of the database while git works. */
const CONCURRENCY = 3;

class WorkspaceGone extends Error {}

interface Round {
  readonly hasMore: boolean;
  /** Names of copies that it took in. */
  readonly copied: readonly string[];
}

/**
 * Copies logged changes into the history: contents into git, then versions into the database, which marks them as done. A
 * crash in between repeats this, which is harmless.
 */
@Injectable()
export class HistoryCapture {
  private readonly limit = new ConcurrencyLimit(CONCURRENCY);
  private readonly urgent = new ConcurrencyLimit(CONCURRENCY);
  private readonly running = new Map<string, Promise<boolean>>();

  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly folders: WorkspaceFolders,
    private readonly versions: VersionsStore,
    private readonly writes: RecordedWrites,
    private readonly git: GitStore,
    private readonly copies: KeptCopies,
    private readonly log: Log,
  ) {}

  /** Captures all that the log has now; 503 where there is no history. */
  async upToDate(workspaceId: string): Promise<void> {
    await this.git.require();
    if (dryRun()) return;
    await this.writes.catchUp(workspaceId);
    const newest = await this.versions.newestPending(workspaceId);
    while (await this.versions.isBehind(workspaceId, newest)) await this.oneRound(workspaceId);
  }

  /** Captures the files from before the history began; changes that the log has wait for their turn. */
  async allFound(workspaceId: string): Promise<void> {
    const add = async (unit: UnitOfWork): Promise<boolean> => {
      const progress = await this.versions.lock(unit, workspaceId);
      if (!progress || progress.complete) return false;
      const workspace = { id: workspaceId, number: progress.number };
      await this.captureFound(unit, workspace, this.folders.open(workspace), progress);
      return true;
    };
    const round = () => withQueryDeadline(QUERY_MS, () => this.database.transaction(add));
    while (await this.limit.run(round).catch(error => this.afterFailure(error, workspaceId)));
  }

  /** Captures a round of what is settled, unless another process does; true: there may be more. */
  unlessBusy(workspaceId: string): Promise<boolean> {
    return this.oneRound(workspaceId, false);
  }

  /** Concurrent callers share a round, so it has a deadline of its own. */
  private oneRound(workspaceId: string, waits = true): Promise<boolean> {
    const running = this.running.get(workspaceId);
    if (running) return running;
    const round = this.limit
      .run(() => withQueryDeadline(QUERY_MS, () => this.roundAndRemove(workspaceId, waits)))
      .catch(error => this.afterFailure(error, workspaceId))
      .finally(() => this.running.delete(workspaceId));
    this.running.set(workspaceId, round);
    return round;
  }

  private async afterFailure(error: unknown, workspaceId: string): Promise<boolean> {
    if (!(error instanceof WorkspaceGone)) throw error;
    // The round may have created its repository again.
    await this.folders.remove(workspaceId);
    return false;
  }

  /** Copies go when the versions that have their contents are committed. */
  private async roundAndRemove(id: string, waits: boolean): Promise<boolean> {
    const { hasMore, copied } = await this.database.transaction(unit => this.round(unit, id, waits));
    if (copied.length > 0) await this.copies.remove({ id, number: 0 }, copied);
    return hasMore;
  }

  private async round(unit: UnitOfWork, id: string, waits: boolean): Promise<Round> {
    const progress = await this.versions.lock(unit, id, waits);
    if (!progress) return { hasMore: false, copied: [] };
    const workspace = { id, number: progress.number };
    const files = this.folders.open(workspace);
    if (progress.complete) return this.captureChanges(unit, workspace, files, progress);
    await this.captureFound(unit, workspace, files, progress);
    return { hasMore: true, copied: [] };
  }

  /** To be called before rows are written: a deletion locks the workspace first, too, and the other way round is a deadlock. */
  private async keep(unit: UnitOfWork, workspaceId: string): Promise<void> {
    if (!(await this.versions.keepWorkspace(unit, workspaceId))) throw new WorkspaceGone();
  }

  private async captureChanges(
    unit: UnitOfWork,
    workspace: RepositoryOf,
    files: WorkspaceFs,
    progress: Progress,
  ): Promise<Round> {
    const pending = await this.versions.pending(unit, workspace.id, MAX_CHANGES);
    // Listed after that: what came over a change that is pending was kept before.
    const kept = await this.copies.names(workspace);
    const changes = untilOverwritten(firstBytes(pending), kept);
    const paths = changes.flatMap(({ path, from_path }) => (from_path === null ? [path] : [path, from_path]));
    const heads = await this.versions.heads(unit, workspace.id, paths);
    const drafts = draftsOf(changes, heads);
    const known = new Set<string>();
    for (const { blob } of heads.values()) if (blob !== null) known.add(blob);
    for (const draft of drafts) {
      // A moved file need not be read again.
      const origin = draft.from === null ? undefined : heads.get(draft.from);
      if (origin?.blob && origin.etag === draft.etag)
        draft.content = { blob: origin.blob, executable: origin.executable };
    }
    const moved = new Map(pending.map(({ path, etag }) => [etag, path]));
    const read = async (draft: Draft): Promise<Reading> => {
      const name = draft.change && copyOf({ seq: draft.change.seq, etag: draft.etag });
      if (name && kept.has(name)) return this.copies.read(workspace, name);
      const reading = await this.readFile(files, draft);
      if (!('unkept' in reading) || reading.unkept !== 'overwritten') return reading;
      // A later round has the move; or it was overwritten just now.
      const path = moved.get(draft.etag) ?? draft.path;
      const found = path === draft.path ? reading : await this.readFile(files, { ...draft, path });
      return 'unkept' in found && name ? this.copies.read(workspace, name) : found;
    };
    const commit = await this.commit(workspace, files, progress, drafts, known, read);
    await this.keep(unit, workspace.id);
    const asRead = await this.versions.markCaptured(unit, changes);
    const sure = drafts.filter(({ change }) => change !== null && asRead.has(change.seq));
    await this.versions.add(unit, workspace.id, sure, heads);
    if (commit) await this.versions.addCommit(unit, workspace.id, commit.sha, commit.bytes);
    return {
      hasMore: changes.length < pending.length || pending.length === MAX_CHANGES,
      copied: changes.flatMap(change => copyOf(change) ?? []).filter(name => kept.has(name)),
    };
  }

  /** Captures files from before the history began, a batch at a time. */
  private async captureFound(
    unit: UnitOfWork,
    workspace: RepositoryOf,
    files: WorkspaceFs,
    progress: Progress,
  ): Promise<void> {
    const { found, through } = await foundAfter(files, progress.found_through);
    await this.addFound(unit, workspace, files, progress, found);
    await this.versions.setFound(unit, workspace.id, through);
  }

  private async addFound(
    unit: UnitOfWork,
    workspace: RepositoryOf,
    files: WorkspaceFs,
    progress: Progress,
    found: readonly Entry[],
  ): Promise<void> {
    const pending = await this.versions.pending(unit, workspace.id, MAX_CHANGES);
    const changed = new Set(pending.map(({ path }) => path));
    const paths = found.map(({ path }) => path);
    const heads = await this.versions.heads(unit, workspace.id, paths);
    const drafts = found.filter(({ path }) => !changed.has(path) && !heads.has(path)).map(draftOfFound);
    const commit = await this.commit(workspace, files, progress, drafts, new Set());
    await this.keep(unit, workspace.id);
    await this.versions.add(unit, workspace.id, drafts, heads);
    if (commit) await this.versions.addCommit(unit, workspace.id, commit.sha, commit.bytes);
  }

  /**
   * Where the files from before the history are not all captured: captures those at `paths`, after no more than the round
   * under way. False where one is a folder.
   */
  async foundAt(workspaceId: string, paths: readonly string[]): Promise<boolean> {
    const add = async (unit: UnitOfWork): Promise<boolean> => {
      const progress = await this.versions.lock(unit, workspaceId);
      if (!progress || progress.complete) return true;
      const workspace = { id: workspaceId, number: progress.number };
      const files = this.folders.open(workspace);
      const there = (await Promise.all(paths.map(path => files.find(path)))).filter(entry => entry !== null);
      if (there.some(({ type }) => type === 'directory')) return false;
      const found = there.filter(({ type, path }) => type === 'file' && !isSkipped(path));
      await this.addFound(unit, workspace, files, progress, found);
      return true;
    };
    return this.urgent
      .run(() => withQueryDeadline(QUERY_MS, () => this.database.transaction(add)))
      .catch(error => this.afterFailure(error, workspaceId));
  }

  private readFile(files: WorkspaceFs, seen: SeenAs): Promise<Reading> {
    return readAsLogged(files, seen, this.config.workspaceLimits.history_file_bytes);
  }

  private async commit(
    workspace: RepositoryOf,
    files: WorkspaceFs,
    { bytes }: Progress,
    drafts: readonly Draft[],
    known: Set<string>,
    read = (draft: Draft) => this.readFile(files, draft),
  ): Promise<{ sha: string; bytes: number } | null> {
    if (drafts.length === 0) return null;
    const room = this.config.workspaceLimits.history_bytes - Number(bytes);
    const attempt = (has: Set<string>) => this.git.of(workspace).commit(drafts, { read, room, known: has });
    try {
      return await attempt(known);
    } catch (error) {
      this.log.warn({ err: error, workspace_id: workspace.id }, 'git may lack contents; all are sent again');
      for (const draft of drafts) if (draft.kind !== 'deleted') draft.content = undefined;
      return attempt(new Set());
    }
  }
}
