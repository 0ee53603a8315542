import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import type { TriggerRow } from '../../automation/index.js';

/** When schedules fire, by the clock of the database alone. */
@Injectable()
export class SchedulesStore {
  constructor(private readonly database: Database) {}

  async now(unit: UnitOfWork): Promise<Date> {
    const { rows } = await sql<{ now: string }>`select clock_timestamp() as now`.execute(unit.tables());
    return new Date(rows[0]?.now ?? Number.NaN);
  }

  /** Triggers that are due, of some deployments or of one; no other process fires them before `unit` ends. */
  async takeDue(unit: UnitOfWork, limit: number, only?: string): Promise<TriggerRow[]> {
    const those = only === undefined ? dueIds(limit) : sql`${only}::uuid`;
    const { rows } = await sql<TriggerRow>`
      with due as materialized (
        select id from automation_deployment where state = 'live' and id in (${those})
        order by id for no key update skip locked)
      select t.* from automation_trigger t where t.deployment_id in (select id from due)
        and t.kind = 'schedule' and t.position is not null and t.next_at <= now()
      order by t.next_at`.execute(unit.tables());
    return rows;
  }

  /** Deployments with triggers that are due. */
  async due(limit: number): Promise<string[]> {
    const { rows } = await sql<{
      id: string;
    }>`select distinct deployment_id as id from (${dueIds(limit)}) as due`.execute(this.database.tables());
    return rows.map(({ id }) => id);
  }

  /** What could not be fired is tried again later; its slots stay as they are. */
  async putOff(unit: UnitOfWork, deploymentId: string): Promise<void> {
    await sql`update automation_trigger set next_at = now() + interval '1 minute'
      where deployment_id = ${deploymentId} and next_at <= now()`.execute(unit.tables());
  }

  /** Milliseconds until the next one is due. */
  async next(): Promise<number | undefined> {
    const { rows } = await sql<{ wait: number | null }>`
      select extract(epoch from min(next_at) - now())::float8 * 1000 as wait from automation_trigger
      where next_at is not null`.execute(this.database.tables());
    return rows[0]?.wait ?? undefined;
  }
}

const dueIds = (limit: number) => sql`
  select t.deployment_id from automation_trigger t join automation_deployment d on d.id = t.deployment_id
  where t.next_at <= now() and d.state = 'live' order by t.next_at limit ${limit}`;
