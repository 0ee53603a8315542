import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database } from '../../platform/database/index.js';
import { Chore } from '../../platform/jobs/index.js';
import type { ReadUsage, UsageGroupView, UsageSumView } from './billing.dto.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Nothing is entered later than this for a time that has passed. */
const LATE = '6 hours';

type Grouping = NonNullable<ReadUsage['group_by']>;

/** From which column a group comes; the day is another one in the ledger and in its sums. */
const KEYS: Record<Exclude<Grouping, 'day'>, RawBuilder<string | null>> = {
  workspace: sql`workspace_id::text`,
  model: sql`model`,
  user: sql`actor_id::text`,
  automation: sql`deployment_id::text`,
};
const UTC_DAY = sql<string>`to_char(time at time zone 'utc', 'YYYY-MM-DD')`;
const SUMMED_DAY = sql<string>`to_char(day, 'YYYY-MM-DD')`;

type Sum = keyof UsageSumView;

/** Each sum of a report, as one entry of the ledger counts for it. */
const COUNTED: Record<Sum, RawBuilder<unknown>> = {
  model_calls: sql`(kind = 'model_call')::int`,
  input_tokens: sql`coalesce(input_tokens, 0)`,
  output_tokens: sql`coalesce(output_tokens, 0)`,
  cache_read_tokens: sql`coalesce(cache_read_tokens, 0)`,
  cache_write_tokens: sql`coalesce(cache_write_tokens, 0)`,
  tool_seconds: sql`case when kind = 'tool_seconds' then coalesce(seconds, 0) else 0 end`,
  build_seconds: sql`case when kind = 'build_seconds' then coalesce(seconds, 0) else 0 end`,
  server_seconds: sql`case when kind = 'server_seconds' then coalesce(seconds, 0) else 0 end`,
  storage_byte_hours: sql`coalesce(byte_hours, 0)`,
  spend_usd: sql`coalesce(cost_usd, 0)`,
  unpriced_calls: sql`(kind = 'model_call' and cost_usd is null)::int`,
};
const NAMES = Object.keys(COUNTED) as Sum[];

const COLUMNS = sql.join(NAMES.map(name => sql.ref(name)));
const OF_ENTRY = sql.join(NAMES.map(name => sql`${COUNTED[name]} as ${sql.ref(name)}`));
const SUMS = sql.join(NAMES.map(name => sql`coalesce(sum(${sql.ref(name)}), 0) as ${sql.ref(name)}`));
const DAY_SUMS = sql.join(NAMES.map(name => sql`sum(${COUNTED[name]})`));

type SumRow = Record<Sum, string | number> & { key: string | null; is_total: number };

/** Times from the first until before the second. */
type Range = readonly [Date, Date];

/** Reports of what was used: whole days from their sums, the rest from the ledger. */
@Injectable()
export class UsageStore {
  constructor(private readonly database: Database) {}

  /**
   * What an organization used from `from` until before `to`, in groups and in all. With `workspaceIds`, what these used
   * alone; by automation, what deployments used alone.
   */
  async sums(
    { organizationId, workspaceIds }: { organizationId: string; workspaceIds: readonly string[] | null },
    range: { from: Date; to: Date },
    grouping: Grouping = 'day',
  ): Promise<{ items: UsageGroupView[]; total: UsageSumView }> {
    const { days, entries } = split([range.from, range.to], await this.summedUntil());
    const mine = sql`organization_id = ${organizationId}
      and (${grouping === 'automation' ? sql`deployment_id is not null` : sql`true`})
      and (${workspaceIds}::uuid[] is null or workspace_id = any(${workspaceIds}::uuid[]))`;
    const keyOf = (day: RawBuilder<string>) => (grouping === 'day' ? day : KEYS[grouping]);
    const parts = [
      ...entries.map(
        ([from, to]) => sql`select ${keyOf(UTC_DAY)} as key, ${OF_ENTRY} from usage_entry
          where ${mine} and time >= ${from.toISOString()}::timestamptz and time < ${to.toISOString()}::timestamptz`,
      ),
      ...days.map(
        ([from, to]) => sql`select ${keyOf(SUMMED_DAY)} as key, ${COLUMNS} from usage_day
          where ${mine} and day >= ${dateOf(from)}::date and day < ${dateOf(to)}::date`,
      ),
    ];
    if (parts.length === 0) return { items: [], total: viewOf() };
    const { rows } = await sql<SumRow>`
      select key, grouping(key) as is_total, ${SUMS} from (${sql.join(parts, sql` union all `)}) part
      group by grouping sets ((key), ()) order by key`.execute(this.database.tables());
    const total = rows.find(({ is_total }) => is_total === 1);
    const groups = rows.filter(({ is_total }) => is_total === 0);
    return { items: groups.map(row => ({ key: row.key, ...viewOf(row) })), total: viewOf(total) };
  }

  /** Sums the days that are over, each once, whichever processes do it. */
  @Chore('usage_days', { everyMs: HOUR_MS })
  async sumDays(): Promise<void> {
    while (await this.sumDay());
  }

  private async sumDay(): Promise<boolean> {
    const { rows } = await sql`
      with next as (
        select until as day, until::timestamp at time zone 'utc' as begins, (until + 1)::timestamp at time zone 'utc' as ends
        from usage_summed where until < ((now() - ${LATE}::interval) at time zone 'utc')::date for update
      ), summed as (
        insert into usage_day (organization_id, day, workspace_id, actor_id, deployment_id, model, ${COLUMNS})
        select organization_id, day, workspace_id, actor_id, deployment_id, model, ${DAY_SUMS}
        from next, usage_entry where time >= begins and time < ends
        group by organization_id, day, workspace_id, actor_id, deployment_id, model
      )
      update usage_summed set until = next.day + 1 from next returning until`.execute(this.database.tables());
    return rows.length > 0;
  }

  private async summedUntil(): Promise<Date> {
    const { rows } = await sql<{ until: string }>`select until::text as until from usage_summed`.execute(
      this.database.tables(),
    );
    return new Date(`${rows[0]?.until ?? '1970-01-01'}T00:00:00Z`);
  }
}

/** The whole days that are summed, and what is before and after them. */
function split([from, to]: Range, summedUntil: Date): { days: Range[]; entries: Range[] } {
  const first = new Date(Math.ceil(from.getTime() / DAY_MS) * DAY_MS);
  const last = new Date(Math.min(Math.floor(to.getTime() / DAY_MS) * DAY_MS, summedUntil.getTime()));
  const isEmpty = ([begin, end]: Range) => begin >= end;
  if (isEmpty([first, last])) return { days: [], entries: isEmpty([from, to]) ? [] : [[from, to]] };
  const around: Range[] = [
    [from, first],
    [last, to],
  ];
  return { days: [[first, last]], entries: around.filter(range => !isEmpty(range)) };
}

const dateOf = (time: Date): string => time.toISOString().slice(0, 10);

const viewOf = (row?: SumRow): UsageSumView =>
  Object.fromEntries(NAMES.map(name => [name, Number(row?.[name] ?? 0)])) as unknown as UsageSumView;
