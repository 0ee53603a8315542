import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Config } from '../../platform/config/index.js';
import { Database } from '../../platform/database/index.js';
import { Chore } from '../../platform/jobs/index.js';
import { ChangeLog } from './change-log.js';

const LOOK_MS = 3_600_000;
const AT_ONCE = 10_000;

/** Forgets changes that are older than CHANGE_LOG_DAYS; streams that wanted them are told (`reset`). */
@Injectable()
export class ChangeRetention {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly changes: ChangeLog,
  ) {}

  @Chore('prune_change_log', { everyMs: LOOK_MS })
  async prune(): Promise<void> {
    await this.numberOldOnes();
    while ((await this.pruneSome()) === AT_ONCE);
  }

  /** Where nobody watches, changes have no numbers yet; a stream must be able to tell which are missing. */
  private async numberOldOnes(): Promise<void> {
    const { rows } = await sql<{ workspace_id: string }>`
      select distinct workspace_id from workspace_change where id is null and created_at < ${this.cutoff}`.execute(
      this.database.tables(),
    );
    for (const { workspace_id } of rows) await this.changes.settle(workspace_id);
  }

  private async pruneSome(): Promise<number> {
    const { rows } = await sql<{ pruned: number }>`
      with old as (
        select seq from workspace_change where created_at < ${this.cutoff} and id is not null
        order by created_at limit ${AT_ONCE}
      ), gone as (
        delete from workspace_change c using old where c.seq = old.seq returning c.workspace_id, c.id
      ), noted as (
        update workspace_log l set pruned_through = greatest(l.pruned_through, g.last)
        from (select workspace_id, max(id) as last from gone group by workspace_id) g
        where l.workspace_id = g.workspace_id
      )
      select count(*)::int as pruned from gone`.execute(this.database.tables());
    return rows[0]?.pruned ?? 0;
  }

  private get cutoff() {
    return sql`now() - ${this.config.changeLogDays} * interval '1 day'`;
  }
}
