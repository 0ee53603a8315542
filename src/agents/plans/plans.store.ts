import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database, iso, storable } from '../../platform/database/index.js';
import type { PlanStep, PlanView } from './plan.js';

interface PlanRow {
  run_id: string;
  items: PlanStep[];
  updated_at: string;
}

/** Reads the plans of runs. */
@Injectable()
export class PlansStore {
  constructor(private readonly database: Database) {}

  /** The plan of a chat: that of its latest run that has one. */
  async ofChat(chatId: string): Promise<PlanView | null> {
    const { rows } = await sql<PlanRow>`
      select p.run_id, p.items, p.updated_at from plan p join run r on r.id = p.run_id
      where p.chat_id = ${chatId} order by r.number desc limit 1`.execute(this.database.tables());
    return rows[0] ? planView(rows[0]) : null;
  }
}

export function planView({ run_id: call_id, items, updated_at }: PlanRow): PlanView {
  return { call_id, items, updated_at: iso(updated_at) };
}

/** The plan of the run in `run`, as a column of a statement that reads it. */
export const PLAN_COLUMN = sql`(
  select json_build_object('run_id', p.run_id, 'items', p.items, 'updated_at', p.updated_at)
  from plan p where p.run_id = run.id) as plan`;

/** What {@link PLAN_COLUMN} gives. */
export type PlanColumn = PlanRow | null;

/** The part of a statement that sets the plan of the run in `run`. */
export const planRow = (run: RawBuilder<unknown>, items: readonly PlanStep[]): RawBuilder<unknown> => sql`
  planning as (
    insert into plan (run_id, chat_id, items, updated_at)
    select r.id, r.chat_id, ${storable(items)}::jsonb, now() from ${run} r
    on conflict (run_id) do update set items = excluded.items, updated_at = excluded.updated_at)`;
