import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import type { DeploymentRow, TriggerRow } from '../../automation/index.js';

export interface DueDeployment {
  readonly deployment: DeploymentRow;
  readonly triggers: readonly TriggerRow[];
}

/** A slot, and when it fires; null: none comes any more. */
export interface SlotTimes {
  readonly next_slot: Date | null;
  readonly next_at: Date | null;
}

/** When schedules fire, by the clock of the database alone. */
@Injectable()
export class SchedulesStore {
  constructor(private readonly database: Database) {}

  /** Deployments with triggers that are due, or one of them; no other process fires them before `unit` ends. */
  async takeDue(unit: UnitOfWork, limit: number, only?: string): Promise<DueDeployment[]> {
    const those = only === undefined ? dueIds(limit) : sql`${only}::uuid`;
    const { rows: deployments } = await sql<DeploymentRow>`
      select * from automation_deployment where state = 'live' and id in (${those})
      order by id for no key update skip locked`.execute(unit.tables());
    if (deployments.length === 0) return [];
    const { rows: triggers } = await sql<TriggerRow>`
      select * from automation_trigger where deployment_id = any(${deployments.map(({ id }) => id)}::uuid[])
        and kind = 'schedule' and position is not null and next_at <= now()
      order by next_at`.execute(unit.tables());
    const of = Map.groupBy(triggers, ({ deployment_id }) => deployment_id);
    return deployments.map(deployment => ({ deployment, triggers: of.get(deployment.id) ?? [] }));
  }

  /** Sets when triggers fire next. */
  async setTimes(unit: UnitOfWork, times: readonly (SlotTimes & { readonly id: string })[]): Promise<void> {
    const ids = times.map(({ id }) => id);
    const slots = times.map(({ next_slot }) => next_slot?.toISOString() ?? null);
    const instants = times.map(({ next_at }) => next_at?.toISOString() ?? null);
    await sql`
      update automation_trigger t set next_slot = n.next_slot, next_at = n.next_at
      from unnest(${ids}::uuid[], ${slots}::timestamptz[], ${instants}::timestamptz[]) as n (id, next_slot, next_at)
      where t.id = n.id`.execute(unit.tables());
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
