import { EventEmitter } from 'node:events';
import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database } from '../../platform/database/index.js';
import { defineTopic, Topics } from '../../platform/topics/index.js';
import { WorkspaceFolders } from '../core/index.js';
import { revisedBy } from './agent-files.js';
import { ChangeNumbering, MELTING_MS } from './change-numbering.js';
import type { Intent } from './intent.js';
import { isOfWorkspace } from './of-workspace.js';
import type { Writer } from './writer.js';

export const CHANGE_KINDS = ['created', 'modified', 'deleted', 'moved'] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

/** Something that was done to one path. */
export interface Change {
  readonly path: string;
  readonly kind: ChangeKind;
  /** Where it was before it moved. */
  readonly from?: string | null;
  /** Bytes of a file; null for what is no file, or is gone. */
  readonly size?: number | null;
  readonly etag?: string | null;
  /** What tells a file that says what an agent may from all that it has been; see {@link revisedBy}. */
  readonly revision?: string;
}

/** A change as the log has it. */
export interface LoggedChange {
  /** Order in which changes came in, over all workspaces. */
  readonly seq: string;
  /** From 1, rising by one in each workspace; null while more writes may still melt into it. */
  readonly id: string | null;
  readonly path: string;
  readonly kind: ChangeKind;
  readonly from_path: string | null;
  readonly size: string | null;
  readonly etag: string | null;
  readonly writer_type: Writer['type'];
  readonly writer_id: string;
  readonly run_id: string | null;
  readonly changed_at: string;
  readonly revision: string | null;
}

/** How far a log has come: the number of its last change, and whether there are some without a number yet. */
export interface LogHead {
  readonly position: number;
  readonly isUnsettled: boolean;
}

const AT_ONCE = 5000;

export const changesTopic = defineTopic('changes');

/** Sees to it that nothing which is about to be overwritten gets lost. */
export interface Keeper {
  /** A condition on the database: whether `writer`, at these paths (none: anywhere), could overwrite what is not kept yet. */
  risk(workspaceId: string, writer: Writer, paths: readonly string[]): Promise<RawBuilder<boolean>>;
  keep(workspaceId: string): Promise<void>;
}

/** A write that is known to be under way, as far as its record goes. */
type Begun = Pick<Intent, 'id' | 'recorded'>;

/** What happened to the files of a workspace, whoever did it, in one order. */
@Injectable()
export class ChangeLog {
  private readonly recorded = new EventEmitter();
  private readonly keepers: Keeper[] = [];
  private readonly numbering: ChangeNumbering;

  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
    private readonly folders: WorkspaceFolders,
  ) {
    this.numbering = new ChangeNumbering(database);
  }

  /** Calls `listener` after changes were recorded by this process. */
  onRecorded(listener: (workspaceId: string) => void): void {
    this.recorded.on('recorded', listener);
  }

  /** Has `keeper` look at files before they are overwritten. */
  keepWith(keeper: Keeper): void {
    this.keepers.push(keeper);
  }

  /** To be called before a command runs, which may write anywhere. */
  async beforeCommand(workspaceId: string, writer: Writer): Promise<void> {
    const { rows } = await sql<{ risk: boolean }>`
      select ${await this.risk(workspaceId, writer, [])} as risk`.execute(this.database.tables());
    if (rows[0]?.risk !== false) await this.keep(workspaceId);
  }

  /** A condition on the database: whether {@link keep} is called for before something is written. */
  async risk(workspaceId: string, writer: Writer, paths: readonly string[]): Promise<RawBuilder<boolean>> {
    const risks = await Promise.all(this.keepers.map(keeper => keeper.risk(workspaceId, writer, paths)));
    return sql<boolean>`(${sql.join([sql`false`, ...risks], sql` or `)})`;
  }

  async keep(workspaceId: string): Promise<void> {
    for (const keeper of this.keepers) await keeper.keep(workspaceId);
  }

  /**
   * Writes changes down that have happened; those of a workspace that is gone are passed over. With `begun`, only as long as
   * that is under way, which it is not afterwards: else false.
   */
  async record(
    workspaceId: string,
    writer: Writer,
    changes: readonly Change[],
    begun?: Begun,
  ): Promise<boolean> {
    for (let at = 0; at === 0 || at < changes.length; at += AT_ONCE) {
      const some = await revisedBy(writer, this.folders.reader(workspaceId), changes.slice(at, at + AT_ONCE));
      if (some.length === 0 && !begun) break;
      const step = stepOf(begun, at, at + some.length === changes.length ? null : at + some.length);
      if (!(await this.recordSome(workspaceId, writer, some, step))) return false;
    }
    if (changes.length > 0) this.recorded.emit('recorded', workspaceId);
    return true;
  }

  private async recordSome(
    workspaceId: string,
    writer: Writer,
    changes: readonly Change[],
    step: RawBuilder<unknown>,
  ): Promise<boolean> {
    const runId = writer.type === 'run' ? writer.id : null;
    const { rows } = await sql`
      with present as (
        select id from workspace where id = ${workspaceId} for key share
      ), step as (${step}), given as materialized (
        select n, g ->> 'path' as path, g ->> 'kind' as kind, g ->> 'from' as from_path,
          (g ->> 'size')::bigint as size, g ->> 'etag' as etag, g ->> 'revision' as revision
        from step, jsonb_array_elements(${JSON.stringify(changes)}::jsonb) with ordinality as e(g, n)
      ), newest as materialized (
        select g.*, c.seq, c.kind as old_kind from given g, lateral (
          select * from workspace_change c
          -- Put so that only the index by path gives this order: the others lead through all changes of the workspace.
          where c.workspace_id = ${workspaceId} and md5(c.path) between md5(g.path) and md5(g.path) and c.path = g.path
          order by md5(c.path) desc, c.seq desc limit 1
        ) c
        where c.id is null and not c.captured and c.writer_type = ${writer.type} and c.writer_id = ${writer.id}
          and c.kind <> 'moved' and g.kind <> 'moved'
          and c.created_at > now() - ${MELTING_MS} * interval '1 millisecond'
      ), melted as (
        update workspace_change c set size = n.size, etag = n.etag, revision = n.revision, changed_at = now(), kind = case
          when c.kind = 'created' and n.kind = 'modified' then 'created'
          when c.kind = 'deleted' and n.kind = 'created' then 'modified'
          else n.kind end
        from newest n where c.seq = n.seq and coalesce(c.id, 0) = 0 and c.captured::int = 0 -- not by an index of open changes, which are many
        returning n.n
      ), added as (
        insert into workspace_change
          (workspace_id, path, kind, from_path, size, etag, revision, writer_type, writer_id, run_id, created_at, changed_at)
        select present.id, g.path, g.kind, g.from_path, g.size, g.etag, g.revision, ${writer.type}, ${writer.id}, ${runId}::uuid, now(), now()
        from given g, present where g.n not in (select n from melted) order by g.n
      )
      select from step`.execute(this.database.tables());
    this.topics.publish(changesTopic(workspaceId));
    return rows.length > 0;
  }

  /**
   * Gives ids to changes into which no more writes can melt. Whoever reads does this first, so that nothing depends on
   * the process that wrote. Returns in how many milliseconds there will be more to settle; null: there is nothing open.
   */
  settle(workspaceId: string): Promise<number | null> {
    return this.numbering.settle(workspaceId);
  }

  /** The number of the last settled change; 0 before the first. */
  async last(workspaceId: string): Promise<number> {
    const { rows } = await sql<{ last_change: string }>`
      select last_change from workspace_log where workspace_id = ${workspaceId}`.execute(
      this.database.tables(),
    );
    return Number(rows[0]?.last_change ?? 0);
  }

  /** How far the logs of these workspaces have come. */
  async heads(workspaceIds: readonly string[]): Promise<Map<string, LogHead>> {
    const { rows } = await sql<{ id: string; position: number; is_unsettled: boolean }>`
      select w.id, coalesce(l.last_change, 0)::float8 as position,
        (select c.seq from workspace_change c where c.workspace_id between w.id and w.id and c.id is null
          order by c.workspace_id, c.seq limit 1) is not null as is_unsettled
      from unnest(${[...workspaceIds]}::uuid[]) as w (id) left join workspace_log l on l.workspace_id = w.id`.execute(
      this.database.tables(),
    );
    return new Map(
      rows.map(({ id, position, is_unsettled: isUnsettled }) => [id, { position, isUnsettled }]),
    );
  }

  /** Settled changes after number `after`, in order. */
  async after(workspaceId: string, after: number, limit: number): Promise<LoggedChange[]> {
    const { rows } = await sql<LoggedChange>`
      select * from workspace_change where workspace_id = ${workspaceId} and id > ${after}
      order by id limit ${limit}`.execute(this.database.tables());
    return rows;
  }

  /** Number of the last change that is not kept any more; 0: all are. */
  async prunedThrough(workspaceId: string): Promise<number> {
    const { rows } = await sql<{ pruned: number }>`
      select pruned_through::float8 as pruned from workspace_log where workspace_id = ${workspaceId}`.execute(
      this.database.tables(),
    );
    return rows[0]?.pruned ?? 0;
  }

  /** All changes after `seq`, settled or not, in the order they came in. */
  async since(workspaceId: string, seq: string, limit: number): Promise<LoggedChange[]> {
    const { rows } = await sql<LoggedChange>`
      select * from workspace_change where ${isOfWorkspace(workspaceId)} and seq > ${seq}::bigint
      order by workspace_id, seq limit ${limit}`.execute(this.database.tables());
    return rows;
  }
}

/** Takes what is under way one step further, to `through` (null: to its end), if it is as far as it was left. */
function stepOf(begun: Begun | undefined, at: number, through: number | null): RawBuilder<unknown> {
  if (!begun) return sql`select 1 as done`;
  const { id, recorded } = begun;
  // The workspace is locked before what belongs to it, as by those who delete it; else each could wait for the other.
  const here = sql`id = ${id}::uuid and recorded = ${recorded + at} and (select count(*) from present) >= 0`;
  if (through === null) return sql`delete from workspace_write where ${here} returning 1 as done`;
  return sql`update workspace_write set recorded = ${recorded + through} where ${here} returning 1 as done`;
}
