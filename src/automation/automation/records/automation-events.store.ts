import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database, type Row, type UnitOfWork } from '../../../platform/database/index.js';
import { Chore } from '../../../platform/jobs/index.js';
import { defineTopic, type Topics } from '../../../platform/topics/index.js';

const KEPT_DAYS = 7;
const HOUR_MS = 3_600_000;
const BATCH = 1000;

/** Something has happened to the automations of a workspace. */
export const automationEventsTopic = defineTopic('automation-events');

type AutomationEventRow = Row<'automation_event'> & { readonly id: string };

type TellingRun = Pick<
  Row<'automation_run'>,
  'id' | 'workspace_id' | 'deployment_id' | 'file_path' | 'kind' | 'trigger_kind' | 'status' | 'stop_reason'
>;

/** Writes down what became of runs, in the transaction that makes it so; where `change` is given also by one statement with it. */
export function recordRunEvents(
  unit: UnitOfWork,
  topics: Topics,
  what: 'queued' | 'started' | 'completed' | 'failed',
  runs: readonly TellingRun[],
  change?: RawBuilder<unknown>,
): Promise<void> {
  const events = runs.map(run => {
    const { id, workspace_id, deployment_id, file_path, kind, trigger_kind, status, stop_reason } = run;
    const data = { run_id: id, deployment_id, file_path, kind, trigger_kind, status, stop_reason };
    return { workspace_id, data };
  });
  return record(unit, topics, `automation.run.${what}`, events, change);
}

/** The same of a deployment. */
export async function recordDeploymentEvent(
  unit: UnitOfWork,
  topics: Topics,
  what: 'deployed' | 'paused' | 'resumed' | 'stopped',
  { id, workspace_id, file_path, state, version, paused_reason }: Row<'automation_deployment'>,
): Promise<void> {
  const data = { deployment_id: id, file_path, state, version, paused_reason };
  await record(unit, topics, `automation.deployment.${what}`, [{ workspace_id, data }]);
}

async function record(
  unit: UnitOfWork,
  topics: Topics,
  type: string,
  events: readonly { readonly workspace_id: string; readonly data: object }[],
  change?: RawBuilder<unknown>,
): Promise<void> {
  await sql`${change ? sql`with changed as (${change})` : sql``}
    insert into automation_event (workspace_id, type, data, created_at)
    select workspace_id, ${type}, data, now()
    from json_to_recordset(${JSON.stringify(events)}::json) as t (workspace_id uuid, data jsonb)`.execute(
    unit.tables(),
  );
  const places = new Set(events.map(({ workspace_id }) => workspace_id));
  topics.publishAfterCommit(unit, ...[...places].map(id => automationEventsTopic(id)));
}

/** What has happened to the automations of workspaces, under numbers that rise by one in each. */
@Injectable()
export class AutomationEventsStore {
  constructor(private readonly database: Database) {}

  /** Gives numbers to what has none: whoever reads does that first. The lock on the row of the log puts readers in turn. */
  async number(workspaceId: string): Promise<void> {
    const { rows } = await sql`
      select from automation_event where workspace_id = ${workspaceId} and id is null limit 1`.execute(
      this.database.tables(),
    );
    if (rows.length === 0) return;
    await this.database.transaction(async unit => {
      const within = unit.tables();
      await sql`insert into automation_event_log (workspace_id) select id from workspace where id = ${workspaceId}
        on conflict do nothing`.execute(within);
      await sql`select from automation_event_log where workspace_id = ${workspaceId} for update`.execute(
        within,
      );
      await sql`
        with due as (
          select array(select seq from automation_event where workspace_id = ${workspaceId} and id is null order by seq) as seqs
        ), counted as (
          update automation_event_log set last_event = last_event + cardinality(due.seqs) from due
          where workspace_id = ${workspaceId} returning last_event - cardinality(due.seqs) as base, due.seqs
        )
        update automation_event e set id = counted.base + given.n
        from counted, unnest(counted.seqs) with ordinality as given (seq, n) where e.seq = given.seq`.execute(
        within,
      );
    });
  }

  /** Numbered ones after a number, in order. */
  async after(workspaceId: string, after: number, limit: number): Promise<AutomationEventRow[]> {
    const { rows } = await sql<AutomationEventRow>`
      select * from automation_event where workspace_id = ${workspaceId} and id > ${after}
      order by id limit ${limit}`.execute(this.database.tables());
    return rows;
  }

  /** The number up to which events are not kept any more. */
  async prunedThrough(workspaceId: string): Promise<number> {
    const { rows } = await sql<{ pruned: number }>`
      select pruned_through::float8 as pruned from automation_event_log where workspace_id = ${workspaceId}`.execute(
      this.database.tables(),
    );
    return rows[0]?.pruned ?? 0;
  }

  /** Forgets what is old; who reads from before that is told. */
  @Chore('prune_automation_events', { everyMs: HOUR_MS })
  async prune(): Promise<void> {
    const isOld = sql`created_at < now() - make_interval(days => ${KEPT_DAYS})`;
    const { rows } = await sql<{ workspace_id: string }>`
      select distinct workspace_id from automation_event where id is null and ${isOld}`.execute(
      this.database.tables(),
    );
    for (const { workspace_id } of rows) await this.number(workspace_id);
    for (let pruned = BATCH; pruned === BATCH; ) {
      const { rows: gone } = await sql<{ count: number }>`
        with old as (
          delete from automation_event where seq in (
            select seq from automation_event where id is not null and ${isOld} order by created_at limit ${BATCH})
          returning workspace_id, id
        ), noted as (
          update automation_event_log l set pruned_through = greatest(l.pruned_through, o.last)
          from (select workspace_id, max(id) as last from old group by workspace_id) o where l.workspace_id = o.workspace_id)
        select count(*)::int as count from old`.execute(this.database.tables());
      pruned = gone[0]?.count ?? 0;
    }
  }
}
