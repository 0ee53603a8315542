import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database, type Row } from '../../platform/database/index.js';
import { defineTopic, Topics } from '../../platform/topics/index.js';
import { WorkspaceFolders } from '../core/index.js';
import type { Change } from './change.js';
import { isAt, placeOf, recording, stepOf } from './change-rows.store.js';
import type { Intent } from './intent.js';
import { RecentRuns } from './recent-runs.js';
import { type Writer, withRevisions } from './writer.js';

/** A row of the log: `seq` orders changes of all workspaces; `id` numbers those of one, once no write can merge into it. */
export type LoggedChange = Row<'workspace_change'> & { readonly writer_type: Writer['type'] };

interface Since {
  readonly from_seq: string;
  readonly started_at: string;
  /** Changes up to this one are of what was there already, where that is known. */
  readonly settled_seq?: string;
}

interface Found extends Change {
  readonly isSameTag?: boolean;
}

interface Newest {
  readonly seq: string;
  readonly path: string;
  readonly isGone: boolean;
  readonly etag: string | null;
}

const BATCH = 5000;

export const changesTopic = defineTopic('changes');

/** Saves what is about to be overwritten. */
export interface Keeper {
  /** A condition on the database: whether `writer`, at these paths (none: anywhere), could overwrite what is not saved yet. */
  risk(workspaceId: string, writer: Writer, paths: readonly string[]): Promise<RawBuilder<boolean> | boolean>;
  /** Saves what is at these paths or below (none: all). */
  keep(workspaceId: string, paths: readonly string[]): Promise<void>;
}

/**
 * A condition: rows of one workspace. With `order by workspace_id, seq` only an index of both gives the order, whatever
 * statistics say: the primary key leads through the rows of all workspaces.
 */
export function isOfWorkspace(workspaceId: string): RawBuilder<boolean> {
  return sql<boolean>`workspace_id between ${workspaceId}::uuid and ${workspaceId}::uuid`;
}

/** The newest change of a workspace; 0 before the first. */
export function newestChange(workspaceId: string): RawBuilder<string> {
  return sql<string>`coalesce((
    select seq from workspace_change where ${isOfWorkspace(workspaceId)}
    order by workspace_id desc, seq desc limit 1), 0)`;
}

/** The changes to the files of a workspace, by any writer, in one order. */
@Injectable()
export class ChangeLogStore {
  private readonly keepers: Keeper[] = [];
  private readonly recentRuns = new RecentRuns();

  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
    private readonly folders: WorkspaceFolders,
  ) {}

  keepWith(keeper: Keeper): void {
    this.keepers.push(keeper);
  }

  /** Must precede a command, which may write anywhere. */
  async beforeCommand(workspaceId: string, writer: Writer): Promise<void> {
    const { rows } = await sql<{ risk: boolean }>`
      select ${await this.risk(workspaceId, writer, [])} as risk`.execute(this.database.tables());
    if (rows[0]?.risk !== false) await this.keep(workspaceId, []);
  }

  /** A condition on the database: whether {@link keep} has to precede a write. */
  async risk(workspaceId: string, writer: Writer, paths: readonly string[]): Promise<RawBuilder<boolean>> {
    const risks = await Promise.all(this.keepers.map(keeper => keeper.risk(workspaceId, writer, paths)));
    return sql<boolean>`(${sql.join([sql`false`, ...risks.map(risk => (typeof risk === 'boolean' ? sql.lit(risk) : risk))], sql` or `)})`;
  }

  async keep(workspaceId: string, paths: readonly string[]): Promise<void> {
    for (const keeper of this.keepers) await keeper.keep(workspaceId, paths);
  }

  /**
   * Records changes that have happened; skips those of a workspace that is gone. With `begun`, only while that write is
   * unrecorded, and ends it: else false.
   */
  async record(
    workspaceId: string,
    writer: Writer,
    changes: readonly Change[],
    begun?: Pick<Intent, 'id' | 'recorded' | 'entered_at'>,
  ): Promise<boolean> {
    for (let at = 0; at === 0 || at < changes.length; at += BATCH) {
      const batch = await withRevisions(
        writer,
        this.folders.reader(workspaceId),
        changes.slice(at, at + BATCH),
      );
      if (batch.length === 0 && !begun) break;
      const step = stepOf(begun, at, at + batch.length === changes.length ? null : at + batch.length);
      if (!(await this.recordBatch(workspaceId, writer, batch, step, begun?.entered_at))) return false;
    }
    return true;
  }

  private async recordBatch(
    workspaceId: string,
    writer: Writer,
    changes: readonly Change[],
    step: RawBuilder<unknown>,
    since: string | undefined,
  ): Promise<boolean> {
    const mayMerge = this.recentRuns.mayHave(writer);
    this.recentRuns.note(writer);
    const { rows } = await sql`
      with ${recording(workspaceId, writer, changes, step, { mayMerge, since })} select from step`.execute(
      this.database.tables(),
    );
    this.recentRuns.note(writer);
    this.topics.publish(changesTopic(workspaceId));
    return rows.length > 0;
  }

  /**
   * Those changes that the log lacks, by any writer. With `since`, only entries from then on count: a change of the
   * mode alone leaves the entity tag as it was.
   */
  async missing<C extends Found>(workspaceId: string, found: readonly C[], since?: Since): Promise<C[]> {
    const missing: C[] = [];
    for (let at = 0; at < found.length; at += BATCH) {
      const batch = found.slice(at, at + BATCH);
      const newest = await this.newest(
        workspaceId,
        batch.map(({ path }) => path),
        since,
      );
      missing.push(...batch.filter(change => !isLogged(newest.get(change.path), change, since)));
    }
    return missing;
  }

  /** A move deletes at its origin, unless a later change brought the path back. */
  private async newest(
    workspaceId: string,
    paths: readonly string[],
    since: Since | undefined,
  ): Promise<Map<string, Newest>> {
    // A write that merged into an older row has changed its time.
    const isRecent = since
      ? sql`(n.seq > ${since.from_seq}::bigint or n.changed_at >= ${since.started_at}::timestamptz)`
      : sql`true`;
    const { rows } = await sql<Newest>`
      select p.path, n.seq, n.is_gone as "isGone", n.etag
      from jsonb_array_elements_text(${JSON.stringify(paths)}::jsonb) as p(path), lateral (
        (select c.seq, c.changed_at, c.kind = 'deleted' as is_gone, c.etag from workspace_change c
          where ${isAt('c.path', workspaceId, sql`p.path`)} order by ${placeOf('c.path')} desc, c.seq desc limit 1)
        union all
        (select c.seq, c.changed_at, true, null from workspace_change c
          where c.from_path is not null and ${isAt('c.from_path', workspaceId, sql`p.path`)}
          order by ${placeOf('c.from_path')} desc, c.seq desc limit 1)
        order by seq desc limit 1
      ) n where ${isRecent}`.execute(this.database.tables());
    return new Map(rows.map(row => [row.path, row]));
  }
}

function isLogged(newest: Newest | undefined, found: Found, since: Since | undefined): boolean {
  if (!newest) return false;
  const { kind, etag = null, isSameTag = false } = found;
  // The entity tag may be of what was there before.
  if (isSameTag && BigInt(newest.seq) <= BigInt(since?.settled_seq ?? 0)) return false;
  return kind === 'deleted' ? newest.isGone : !newest.isGone && newest.etag === etag;
}
