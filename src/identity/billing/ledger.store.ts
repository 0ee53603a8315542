import { sql } from 'kysely';
import type { Row, UnitOfWork } from '../../platform/database/index.js';

/** What a model call used; null where its provider does not say, or a price is not known. */
interface ModelCall {
  /** The step whose answer it gave; null: it was made on the way to one. */
  readonly step: number | null;
  /** The model that answered. */
  readonly model: string;
  readonly usage: {
    readonly input_tokens: number | null;
    readonly output_tokens: number | null;
    readonly cache_read_tokens: number | null;
    readonly cache_write_tokens: number | null;
    readonly reasoning_tokens: number | null;
  };
  readonly costUsd: number | null;
}

/** What pays for a call: a run, or what stands for one. */
export type PayingRun = Pick<
  Row<'run'>,
  'id' | 'organization_id' | 'workspace_id' | 'chat_id' | 'created_by' | 'deployment_id'
>;

/**
 * Enters a finished model call into the ledger, counts what it cost against the budgets over the run and frees what was held
 * for it. The transaction that records the call itself does this, so that each call is entered exactly once or not at all.
 */
export async function enterModelCall(
  unit: UnitOfWork,
  run: PayingRun,
  { step, model, usage, costUsd }: ModelCall,
): Promise<void> {
  await sql`
    with entered as (
      insert into usage_entry (time, organization_id, workspace_id, chat_id, run_id, step, actor_id, kind, model, input_tokens,
        output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_usd, deployment_id)
      values (now(), ${run.organization_id}, ${run.workspace_id}, ${run.chat_id}, ${run.id}, ${step}, ${run.created_by},
        'model_call', ${model}, ${usage.input_tokens}, ${usage.output_tokens}, ${usage.cache_read_tokens},
        ${usage.cache_write_tokens}, ${usage.reasoning_tokens}, ${costUsd}, ${run.deployment_id})
    )
    delete from budget_reservation where run_id = ${run.id}`.execute(unit.tables());
  if (costUsd) await spend(unit, run, costUsd);
}

/** Enters the time of a tool call, as {@link enterModelCall} does. */
export async function enterToolCall(
  unit: UnitOfWork,
  run: PayingRun,
  { step, position, seconds }: { readonly step: number; readonly position: number; readonly seconds: number },
): Promise<void> {
  await sql`
    insert into usage_entry (time, organization_id, workspace_id, chat_id, run_id, step, position, actor_id, kind, seconds, deployment_id)
    values (now(), ${run.organization_id}, ${run.workspace_id}, ${run.chat_id}, ${run.id}, ${step}, ${position},
      ${run.created_by}, 'tool_seconds', ${seconds}, ${run.deployment_id})`.execute(unit.tables());
}

/** Frees what is held for a run that makes no further call. */
export async function freeReservation(unit: UnitOfWork, runId: string): Promise<void> {
  await sql`delete from budget_reservation where run_id = ${runId}`.execute(unit.tables());
}

/** Enters what a workspace stored during one hour; a second entry for the same hour does nothing. */
export async function enterStorage(
  unit: Pick<UnitOfWork, 'tables'>,
  entry: { organizationId: string; workspaceId: string; hour: Date; bytes: number },
): Promise<void> {
  await sql`
    insert into usage_entry (time, organization_id, workspace_id, kind, byte_hours)
    values (${entry.hour.toISOString()}::timestamptz, ${entry.organizationId}, ${entry.workspaceId}, 'storage_byte_hours', ${entry.bytes})
    on conflict (workspace_id, time) where kind = 'storage_byte_hours' do nothing`.execute(unit.tables());
}

/** Enters how long a build of a site took, on the disk and in its sandboxes. */
export async function enterBuild(
  unit: Pick<UnitOfWork, 'tables'>,
  entry: { organizationId: string; workspaceId: string; actorId: string; seconds: number },
): Promise<void> {
  await sql`
    insert into usage_entry (time, organization_id, workspace_id, actor_id, kind, seconds)
    values (now(), ${entry.organizationId}, ${entry.workspaceId}, ${entry.actorId}, 'build_seconds', ${entry.seconds})`.execute(
    unit.tables(),
  );
}

/** Enters how long servers of a workspace ran, for who had them run. */
export async function enterServer(
  unit: Pick<UnitOfWork, 'tables'>,
  entry: { organizationId: string; workspaceId: string; actorId: string; seconds: number },
): Promise<void> {
  await sql`
    insert into usage_entry (time, organization_id, workspace_id, actor_id, kind, seconds)
    values (now(), ${entry.organizationId}, ${entry.workspaceId}, ${entry.actorId}, 'server_seconds', ${entry.seconds})`.execute(
    unit.tables(),
  );
}

/** Enters how long the script of an automation ran; `deploymentId` is null where it is not deployed. */
export async function enterScript(
  unit: Pick<UnitOfWork, 'tables'>,
  entry: {
    organizationId: string;
    workspaceId: string;
    actorId: string;
    deploymentId: string | null;
    seconds: number;
  },
): Promise<void> {
  await sql`
    insert into usage_entry (time, organization_id, workspace_id, actor_id, kind, seconds, deployment_id)
    values (now(), ${entry.organizationId}, ${entry.workspaceId}, ${entry.actorId}, 'tool_seconds', ${entry.seconds},
      ${entry.deploymentId})`.execute(unit.tables());
}

/** Counts what a call cost, in the order of ids, so that transactions that meet here wait for each other and never in a circle. */
async function spend(
  unit: UnitOfWork,
  { organization_id, workspace_id }: PayingRun,
  costUsd: number,
): Promise<void> {
  await sql`
    with spent as (
      insert into spend as s (scope_id, period, spent_usd)
      select scope_id, this_month(), ${costUsd}::numeric from unnest(array[${organization_id}, ${workspace_id}]::uuid[]) scope_id
      where scope_id is not null order by scope_id
      on conflict (scope_id, period) do update set spent_usd = s.spent_usd + excluded.spent_usd
      returning scope_id, period, spent_usd
    ), ${ALERTED} select 1`.execute(unit.tables());
}

/** The thresholds that the spending in `spent` has passed: each is recorded once a period. */
const ALERTED = sql`alerted as (
  insert into budget_alert (scope_id, period, percent, organization_id, workspace_id, spent_usd, monthly_usd, created_at)
  select b.scope_id, spent.period, percent, b.organization_id, b.workspace_id, spent.spent_usd, b.monthly_usd, now()
  from spent join budget b on b.scope_id = spent.scope_id, unnest(b.alerts) percent
  where spent.spent_usd > 0 and spent.spent_usd >= b.monthly_usd * percent / 100
  on conflict do nothing)`;

/** Deletes alerts whose threshold a changed budget has not passed, so that they are raised again; null: of every budget. */
export async function rearmAlerts(unit: UnitOfWork, scopeId: string | null): Promise<void> {
  await sql`
    delete from budget_alert a using budget b
    where (${scopeId}::uuid is null or a.scope_id = ${scopeId}) and a.period = this_month() and b.scope_id = a.scope_id
      and (b.monthly_usd is null or not exists (
        select from spend s where s.scope_id = a.scope_id and s.period = a.period and s.spent_usd > 0
          and s.spent_usd >= b.monthly_usd * a.percent / 100))`.execute(unit.tables());
}

/** Raises alerts for the thresholds that a changed budget has passed already. */
export async function alertOnChange(unit: UnitOfWork, scopeId: string): Promise<void> {
  await sql`
    with spent as (select scope_id, period, spent_usd from spend where scope_id = ${scopeId} and period = this_month()), ${ALERTED}
    select 1`.execute(unit.tables());
}
