import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database } from '../../platform/database/index.js';
import type { ReadUsage, UsageGroupView, UsageSumView } from './billing.dto.js';

type Grouping = Exclude<NonNullable<ReadUsage['group_by']>, 'automation'>;

const KEYS: Record<Grouping, RawBuilder<string | null>> = {
  workspace: sql`workspace_id::text`,
  model: sql`model`,
  user: sql`actor_id::text`,
  day: sql`to_char(time at time zone 'utc', 'YYYY-MM-DD')`,
};

interface SumRow {
  key: string | null;
  is_total: number;
  model_calls: string;
  input_tokens: string;
  output_tokens: string;
  cache_read_tokens: string;
  cache_write_tokens: string;
  tool_seconds: number;
  storage_byte_hours: number;
  spend_usd: string;
  unpriced_calls: string;
}

export const NOTHING_USED: UsageSumView = {
  model_calls: 0,
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  tool_seconds: 0,
  storage_byte_hours: 0,
  spend_usd: 0,
  unpriced_calls: 0,
};

/** Sums of the usage ledger. */
@Injectable()
export class UsageStore {
  constructor(private readonly database: Database) {}

  /**
   * What an organization used from `from` until before `to`, in groups and in all: one look at the ledger. With
   * `workspaceIds`, what these used alone.
   */
  async sums(
    { organizationId, workspaceIds }: { organizationId: string; workspaceIds: readonly string[] | null },
    { from, to }: { from: Date; to: Date },
    grouping: Grouping = 'day',
  ): Promise<{ items: UsageGroupView[]; total: UsageSumView }> {
    const { rows } = await sql<SumRow>`
      select key, grouping(key) as is_total, ${SUMS}
      from (
        select *, ${KEYS[grouping]} as key from usage_entry
        where organization_id = ${organizationId}
          and (${workspaceIds}::uuid[] is null or workspace_id = any(${workspaceIds}::uuid[])) and time >= ${from.toISOString()}::timestamptz and time < ${to.toISOString()}::timestamptz
      ) entry
      group by grouping sets ((key), ()) order by key`.execute(this.database.tables());
    const total = rows.find(({ is_total }) => is_total === 1);
    const groups = rows.filter(({ is_total }) => is_total === 0);
    return {
      items: groups.map(row => ({ key: row.key, ...sumView(row) })),
      total: total ? sumView(total) : NOTHING_USED,
    };
  }
}

const SUMS = sql`
  count(*) filter (where kind = 'model_call') as model_calls,
  coalesce(sum(input_tokens), 0) as input_tokens,
  coalesce(sum(output_tokens), 0) as output_tokens,
  coalesce(sum(cache_read_tokens), 0) as cache_read_tokens,
  coalesce(sum(cache_write_tokens), 0) as cache_write_tokens,
  coalesce(sum(seconds), 0) as tool_seconds,
  coalesce(sum(byte_hours), 0) as storage_byte_hours,
  coalesce(sum(cost_usd), 0) as spend_usd,
  count(*) filter (where kind = 'model_call' and cost_usd is null) as unpriced_calls`;

function sumView(row: SumRow): UsageSumView {
  return {
    model_calls: Number(row.model_calls),
    input_tokens: Number(row.input_tokens),
    output_tokens: Number(row.output_tokens),
    cache_read_tokens: Number(row.cache_read_tokens),
    cache_write_tokens: Number(row.cache_write_tokens),
    tool_seconds: row.tool_seconds,
    storage_byte_hours: row.storage_byte_hours,
    spend_usd: Number(row.spend_usd),
    unpriced_calls: Number(row.unpriced_calls),
  };
}
