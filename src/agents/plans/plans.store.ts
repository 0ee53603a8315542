import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, iso, storable, type UnitOfWork } from '../../platform/database/index.js';
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

/** Sets the plan of a run. */
export async function setPlan(
  unit: UnitOfWork,
  { id, chat_id }: { readonly id: string; readonly chat_id: string },
  items: readonly PlanStep[],
): Promise<void> {
  await sql`
    insert into plan (run_id, chat_id, items, updated_at) values (${id}, ${chat_id}, ${storable(items)}::jsonb, now())
    on conflict (run_id) do update set items = excluded.items, updated_at = excluded.updated_at`.execute(
    unit.tables(),
  );
}
