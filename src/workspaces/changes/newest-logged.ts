import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '../../platform/database/index.js';
import type { Change } from './change-log.js';

/** What the log of changes says last of a path. */
interface Newest {
  readonly seq: string;
  readonly path: string;
  readonly isGone: boolean;
  readonly etag: string | null;
}

/** A moment in the log. */
interface Since {
  readonly from_seq: string;
  readonly started_at: string;
  /** Changes up to this one are of what was there already, where that is known. */
  readonly settled_seq?: string;
}

/** A change that was found by comparison. */
interface Found extends Change {
  /** Its entity tag is the same as before. */
  readonly isSameTag?: boolean;
}

const AT_ONCE = 5000;

/** Tells what the log of changes has already, whoever wrote it, and also where it went into an older row. */
@Injectable()
export class NewestLogged {
  constructor(private readonly database: Database) {}

  /**
   * Leaves out those changes after which a path is as the log has it. With `since`, only what came into the log from then on
   * counts: a change of the mode alone leaves the entity tag as it was.
   */
  async missing<C extends Found>(workspaceId: string, found: readonly C[], since?: Since): Promise<C[]> {
    const missing: C[] = [];
    for (let at = 0; at < found.length; at += AT_ONCE) {
      const some = found.slice(at, at + AT_ONCE);
      const newest = await this.newest(
        workspaceId,
        some.map(({ path }) => path),
        since,
      );
      missing.push(...some.filter(change => !isSaid(newest.get(change.path), change, since)));
    }
    return missing;
  }

  /** A path from which something was moved is gone by that, unless a later change brought it back. */
  private async newest(
    workspaceId: string,
    paths: readonly string[],
    since: Since | undefined,
  ): Promise<Map<string, Newest>> {
    // A write that went into an older row has changed its time.
    const isRecent = since
      ? sql`(n.seq > ${since.from_seq}::bigint or n.changed_at >= ${since.started_at}::timestamptz)`
      : sql`true`;
    const { rows } = await sql<Newest>`
      select p.path, n.seq, n.is_gone as "isGone", n.etag
      from jsonb_array_elements_text(${JSON.stringify(paths)}::jsonb) as p(path), lateral (
        -- Put so that only the indexes by path give these orders.
        (select c.seq, c.changed_at, c.kind = 'deleted' as is_gone, c.etag from workspace_change c
          where c.workspace_id = ${workspaceId} and md5(c.path) between md5(p.path) and md5(p.path) and c.path = p.path
          order by md5(c.path) desc, c.seq desc limit 1)
        union all
        (select c.seq, c.changed_at, true, null from workspace_change c
          where c.workspace_id = ${workspaceId} and c.from_path is not null
            and md5(c.from_path) between md5(p.path) and md5(p.path) and c.from_path = p.path
          order by md5(c.from_path) desc, c.seq desc limit 1)
        order by seq desc limit 1
      ) n where ${isRecent}`.execute(this.database.tables());
    return new Map(rows.map(row => [row.path, row]));
  }
}

function isSaid(newest: Newest | undefined, found: Found, since: Since | undefined): boolean {
  if (!newest) return false;
  const { kind, etag = null, isSameTag = false } = found;
  // By its entity tag it could be what was there before.
  if (isSameTag && BigInt(newest.seq) <= BigInt(since?.settled_seq ?? 0)) return false;
  return kind === 'deleted' ? newest.isGone : !newest.isGone && newest.etag === etag;
}
