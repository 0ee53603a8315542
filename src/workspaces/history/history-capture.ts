import { Injectable } from '@nestjs/common';
import { ConcurrencyLimit } from '#libs/concurrency-limit/index.js';
import type { Reading } from '#libs/git-history/index.js';
import { QUERY_MS, withQueryDeadline } from '#libs/resilient-postgres/index.js';
import type { Entry, WorkspaceFs } from '#libs/workspace-fs/index.js';
import { Config } from '../../platform/config/index.js';
import { Database, dryRun, type UnitOfWork } from '../../platform/database/index.js';
import { Log } from '../../platform/log/index.js';
import { type LoggedChange, RecordedWrites } from '../changes/index.js';
import { WorkspaceFolders } from '../core/index.js';
import { type Draft, draftsOf, isSkipped } from './draft.js';
import { GitStore, type RepositoryOf } from './git-store.js';
import { KeptCopies } from './kept-copies.js';
import { readAsLogged, type SeenAs } from './read-as-logged.js';
import { type Progress, VersionsStore } from './versions.store.js';

/** Limits of one commit. */
const MAX_CHANGES = 20_000;
const MAX_BYTES = 256 * 1024 * 1024;
/** Each holds a connection of the database while git works. */
const CONCURRENCY = 3;
const PAGE = 1000;

class WorkspaceGone extends Error {}

interface Round {
  readonly hasMore: boolean;
  /** Entity tags of contents that it had from copies. */
  readonly copied: readonly string[];
}

/**
 * Copies logged changes into the history: contents into git, then versions into the database, which marks them as done. A
 * crash in between repeats this, which is harmless.
 */
@Injectable()
export class HistoryCapture {
  private readonly limit = new ConcurrencyLimit(CONCURRENCY);
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
    const kept = await this.copies.of(workspace);
    const changes = untilOverwritten(firstBytes(pending), kept.etags);
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
    const elsewhere = async (draft: Draft): Promise<Reading> => {
      const found = await kept.read(draft);
      if (!('unkept' in found)) return found;
      // A later round has the move.
      return this.readFile(files, { ...draft, path: moved.get(draft.etag) ?? draft.path });
    };
    const commit = await this.commit(workspace, files, progress, drafts, known, elsewhere);
    await this.keep(unit, workspace.id);
    const asRead = await this.versions.markCaptured(unit, changes);
    const sure = drafts.filter(({ change }) => change !== null && asRead.has(change.seq));
    await this.versions.add(unit, workspace.id, sure, heads);
    if (commit) await this.versions.addCommit(unit, workspace.id, commit.sha, commit.bytes);
    return {
      hasMore: changes.length < pending.length || pending.length === MAX_CHANGES,
      copied: changes.flatMap(({ etag }) => (etag !== null && kept.etags.has(etag) ? [etag] : [])),
    };
  }

  /** Captures files from before the history began, a batch at a time. */
  private async captureFound(
    unit: UnitOfWork,
    workspace: RepositoryOf,
    files: WorkspaceFs,
    progress: Progress,
  ): Promise<void> {
    const { found, through } = await this.find(files, progress.found_through);
    const pending = await this.versions.pending(unit, workspace.id, MAX_CHANGES);
    const changed = new Set(pending.map(({ path }) => path));
    const heads = await this.versions.heads(
      unit,
      workspace.id,
      found.map(({ path }) => path),
    );
    const drafts = found
      .filter(({ path, etag }) => !changed.has(path) && heads.get(path)?.etag !== etag)
      .map(draftOfFound);
    const commit = await this.commit(workspace, files, progress, drafts, new Set());
    await this.keep(unit, workspace.id);
    await this.versions.add(unit, workspace.id, drafts, heads);
    if (commit) await this.versions.addCommit(unit, workspace.id, commit.sha, commit.bytes);
    await this.versions.setFound(unit, workspace.id, through);
  }

  private readFile(files: WorkspaceFs, seen: SeenAs): Promise<Reading> {
    return readAsLogged(files, seen, this.config.historyFileBytes);
  }

  private async find(
    files: WorkspaceFs,
    start: string | null,
  ): Promise<{ found: Entry[]; through: string | null }> {
    const found: Entry[] = [];
    let after = start ?? undefined;
    for (let bytes = 0; found.length < MAX_CHANGES && bytes < MAX_BYTES; ) {
      const { entries, next } = await files.list('', { recursive: true, limit: PAGE, after });
      for (const entry of entries)
        if (entry.type === 'file' && !isSkipped(entry.path)) {
          found.push(entry);
          bytes += entry.size;
        }
      if (next === null) return { found, through: null };
      after = next;
    }
    return { found, through: after ?? null };
  }

  private async commit(
    workspace: RepositoryOf,
    files: WorkspaceFs,
    { bytes }: Progress,
    drafts: readonly Draft[],
    known: Set<string>,
    elsewhere?: (draft: Draft) => Promise<Reading>,
  ): Promise<{ sha: string; bytes: number } | null> {
    if (drafts.length === 0) return null;
    const read = async (draft: Draft) => {
      const reading = await this.readFile(files, draft);
      const isOver = elsewhere && 'unkept' in reading && reading.unkept === 'overwritten';
      return isOver ? elsewhere(draft) : reading;
    };
    const room = this.config.historyWorkspaceBytes - Number(bytes);
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

/**
 * Changes up to one that comes over a content that was kept: that has to be in a commit of its own, as git forgets what no
 * commit has.
 */
function untilOverwritten(changes: LoggedChange[], kept: ReadonlySet<string>): LoggedChange[] {
  if (kept.size === 0) return changes;
  const last = new Map<string, string>();
  const end = changes.findIndex(({ path, from_path, etag }) => {
    const isOver = [path, from_path].some(at => at !== null && (last.get(at) ?? etag) !== etag);
    if (etag !== null && kept.has(etag)) last.set(path, etag);
    return isOver;
  });
  return end === -1 ? changes : changes.slice(0, end);
}

function firstBytes(changes: LoggedChange[]): LoggedChange[] {
  let bytes = 0;
  const end = changes.findIndex(({ size }) => {
    bytes += Number(size ?? 0);
    return bytes > MAX_BYTES;
  });
  return end === -1 ? changes : changes.slice(0, Math.max(1, end));
}

function draftOfFound({ path, size, etag, modified_at }: Entry): Draft {
  // A file's time may be set to anything.
  const time = Math.min(Math.max(0, Date.parse(modified_at)), Date.now());
  const changedAt = new Date(time).toISOString();
  return { path, kind: 'found', from: null, size, etag, changedAt, change: null, content: undefined };
}
