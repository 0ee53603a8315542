import { Field } from '../../platform/dto/index.js';
import { OrganizationId } from '../organizations/index.js';

export const DEFAULT_ALERTS = [80, 90, 100];
const GROUPINGS = ['workspace', 'model', 'user', 'automation', 'day'] as const;
const BUDGET_STATES = ['none', 'ok', 'alert', 'reached'] as const;
const MAX_USD = 1_000_000_000;

/** What a budget is set to. */
export class BudgetFields {
  @Field.number('Most to spend in a calendar month (UTC), in USD; null: no budget', {
    min: 0,
    max: MAX_USD,
    nullable: true,
    example: 50,
  })
  monthly_usd: number | null;

  @Field.boolean(
    'Refuse model calls that do not fit: each is counted with what it may cost before it is made, with what it did cost after',
    { optional: true, default: true },
  )
  hard_stop?: boolean;

  @Field.integer('Percentages at which the owners get a mail, each once a month', {
    min: 1,
    max: 100,
    list: true,
    maxItems: 10,
    optional: true,
    default: DEFAULT_ALERTS,
    example: DEFAULT_ALERTS,
  })
  alerts?: number[];
}

export class SetBudget extends BudgetFields {
  @Field.id('The organization') organization_id: string;
}

export class ReadUsage extends OrganizationId {
  @Field.time('From when on; absent: the beginning of this month (UTC)', { optional: true }) from?: string;
  @Field.time('Until when, itself not included; absent: now', { optional: true }) to?: string;

  @Field.choice('What to sum up by', GROUPINGS, { optional: true, default: 'day' })
  group_by?: (typeof GROUPINGS)[number];
}

export class FiredAlertView {
  @Field.integer('The percentage that was passed', { example: 80 }) percent: number;
  @Field.time('When it was') at: string;
}

export class BudgetView {
  @Field.number('Most to spend in a calendar month (UTC), in USD; null: no budget', {
    nullable: true,
    example: 50,
  })
  monthly_usd: number | null;

  @Field.boolean('Whether model calls that do not fit are refused') hard_stop: boolean;

  @Field.integer('Percentages at which the owners get a mail', { list: true, example: DEFAULT_ALERTS })
  alerts: number[];

  @Field.number('Spent this month, in USD, as far as prices are known', { example: 41.2 }) spent_usd: number;
  @Field.number('Held for model calls in flight, in USD', { example: 0.12 }) held_usd: number;

  @Field.number('Left this month, in USD; null: no budget', { nullable: true, example: 8.8 })
  remaining_usd: number | null;

  @Field.choice('none (no budget), ok, alert (a percentage is passed) or reached', BUDGET_STATES)
  state: (typeof BUDGET_STATES)[number];

  @Field.object('The percentages passed this month', () => FiredAlertView, { list: true })
  alerts_fired: FiredAlertView[];
}

export class UsageSumView {
  @Field.integer('Model calls', { example: 120 }) model_calls: number;
  @Field.integer('Tokens that went in', { example: 812000 }) input_tokens: number;
  @Field.integer('Tokens that came out', { example: 96000 }) output_tokens: number;
  @Field.integer('Of those that went in, read from the cache', { example: 500000 }) cache_read_tokens: number;

  @Field.integer('Of those that went in, written to the cache', { example: 20000 })
  cache_write_tokens: number;

  @Field.number('Seconds that tools of agents ran', { example: 340.5 }) tool_seconds: number;
  @Field.number('Seconds that builds of sites took', { example: 42.5 }) build_seconds: number;
  @Field.number('Seconds that servers ran', { example: 86400 }) server_seconds: number;
  @Field.number('Bytes stored, times the hours they were', { example: 7340032 }) storage_byte_hours: number;
  @Field.number('What the calls with a known price cost, in USD', { example: 41.2 }) spend_usd: number;

  @Field.integer('Model calls whose price is not known: they are no part of spend_usd, nor of any budget', {
    example: 0,
  })
  unpriced_calls: number;
}

export class UsageGroupView extends UsageSumView {
  @Field.text(
    'Id of the workspace or user, name of the model, or the day (UTC); null: what belongs to none',
    {
      nullable: true,
      example: '2026-11-21',
    },
  )
  key: string | null;
}

export class BillingPeriodView {
  @Field.time('Its beginning') from: string;
  @Field.time('Its end, itself not included') to: string;
}

export class UsageReportView extends BillingPeriodView {
  @Field.choice('What it is summed up by', GROUPINGS) group_by: (typeof GROUPINGS)[number];

  @Field.object('The groups, in the order of their keys', () => UsageGroupView, { list: true })
  items: UsageGroupView[];

  @Field.object('The sum of all groups', () => UsageSumView) total: UsageSumView;
}

export class BillingLimitsView {
  @Field.integer('Largest single file, in bytes', { example: 1073741824 }) file_bytes: number;
  @Field.integer('Most model calls of a run', { example: 100 }) run_steps: number;

  @Field.integer('Longest a command may take when its caller does not say, in seconds', { example: 120 })
  sandbox_seconds: number;

  @Field.integer('Most memory of a command, in bytes', { example: 1073741824 }) sandbox_memory_bytes: number;
}

export class BillingView {
  @Field.choice('The plan', ['self-hosted']) plan: 'self-hosted';
  @Field.object('What its operator allows', () => BillingLimitsView) limits: BillingLimitsView;
  @Field.object('The calendar month (UTC)', () => BillingPeriodView) period: BillingPeriodView;
  @Field.object('What was used in it so far', () => UsageSumView) usage: UsageSumView;
  @Field.number('What the calls with a known price cost so far, in USD', { example: 41.2 }) spend_usd: number;
  @Field.integer('Model calls so far whose price is not known', { example: 0 }) unpriced_calls: number;

  @Field.object(
    'The budget, and how it stands; null for a credential limited to some workspaces',
    () => BudgetView,
    { nullable: true },
  )
  budget: BudgetView | null;
}
