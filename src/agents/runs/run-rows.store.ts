import { type RawBuilder, sql } from 'kysely';
import type { StepUsage } from '#libs/model-client/index.js';
import { storable } from '../../platform/database/index.js';
import { bounded, type NewEvent, type RunFault, TRANSITIONS } from './run-state.js';

type Sql = RawBuilder<unknown>;

/** A transition as SQL: what it sets, and the states in which it can be made. */
export function transition(name: keyof typeof TRANSITIONS): { set: Sql; from: Sql } {
  const { from, to } = TRANSITIONS[name];
  return {
    set: sql`state = ${sql.lit(to)}`,
    from: sql`state in (${sql.join(from.map(state => sql.lit(state)))})`,
  };
}

/** Of events that take more together, each is a row of its own: a page that ends among them does not read all. */
const MAX_ROW_CHARACTERS = 16 * 1024;

/** Appends events to the log of the run in `run`, whose last_event counts them already. */
export function eventRows(run: Sql, events: readonly NewEvent[]): Sql {
  if (events.length === 0) return sql`select from ${run}`;
  const stored = storable(events.map(bounded));
  if (stored.length <= MAX_ROW_CHARACTERS)
    return sql`
      insert into run_event (run_id, id, events, created_at)
      select r.id, r.last_event, ${stored}::jsonb, now() from ${run} r`;
  return sql`
    insert into run_event (run_id, id, events, created_at)
    select r.id, r.last_event - ${events.length} + e.ordinality, jsonb_build_array(e.value), now()
    from ${run} r, jsonb_array_elements(${stored}::jsonb) with ordinality as e`;
}

/** SQL for the events of a row of run_event, each by itself: its number, type and data. */
export const eventsOf = (row: string): Sql => sql.raw(`events_of_row(${row}.id, ${row}.events)`);

/** SQL for the number of the newest event `e` of a run for which `such` holds; null where there is none. */
export const newestEvent = (runId: string, such: Sql): Sql => sql`(
  select e.id from run_event row cross join lateral ${eventsOf('row')} e
  where row.run_id = ${runId} and ${such} order by row.id desc, e.id desc limit 1)`;

/** SQL for the events of a run after number `after`, which may be null: none, then. */
export const eventsAfter = (runId: string, after: Sql): Sql => sql`(
  select e.* from run_event row cross join lateral ${eventsOf('row')} e
  where row.run_id = ${runId} and row.id > ${after} and e.id > ${after})`;

/** What a run has used so far. Only the newest attempt adds to it, so it reads this once, with its claim. */
export interface RunSums {
  readonly usage: StepUsage;
  readonly costUsd: number | null;
  readonly steps: number;
}

/** What a run has used with one more model call; a cost that is not known makes the sum unknown. */
export function withUsage(
  { usage, costUsd, steps }: RunSums,
  added: StepUsage,
  addedUsd: number | null,
): RunSums {
  const keys = Object.keys(added) as (keyof StepUsage)[];
  const sum = (key: keyof StepUsage) => {
    const [before, now] = [usage[key], added[key]];
    return before === null || now === null ? (before ?? now) : before + now;
  };
  const usd = steps === 0 ? (costUsd ?? 0) : costUsd;
  return {
    steps,
    usage: Object.fromEntries(keys.map(key => [key, sum(key)])) as unknown as StepUsage,
    costUsd: usd === null || addedUsd === null ? null : usd + addedUsd,
  };
}

/** How a run ended. */
export type RunEnd =
  | { status: 'completed'; stopReason: string; response: string; json?: { value: unknown } }
  | { status: 'error'; fault: RunFault; response: string | null };
