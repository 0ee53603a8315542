import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, type Row } from '../../platform/database/index.js';
import { NotFound } from '../../platform/errors/index.js';
import type { RunRow } from './run-state.js';

interface RunFilter {
  chat_id?: string;
  workspace_id?: string;
  parent_call_id?: string;
  status?: string;
  before?: string;
  limit: number;
}

/** A step, and the id of the model that gave its answer. */
export type StepRow = Row<'run_step'> & { model: string | null };

/** Reads what runs have left behind. */
@Injectable()
export class RunRecordsStore {
  constructor(private readonly database: Database) {}

  /** Newest first, from before number `before`. Those of a workspace are of chats that everybody there sees. */
  list({ chat_id, workspace_id, parent_call_id, status, before, limit }: RunFilter): Promise<RunRow[]> {
    let query = this.database.tables().selectFrom('run').selectAll().orderBy('number', 'desc').limit(limit);
    if (chat_id) query = query.where('chat_id', '=', chat_id);
    if (workspace_id) query = query.where('workspace_id', '=', workspace_id);
    if (parent_call_id) query = query.where('parent_id', '=', parent_call_id);
    if (status) query = query.where('status', '=', status as RunRow['status']);
    if (before) query = query.where('number', '<', before);
    return query.execute();
  }

  async read(id: string): Promise<{ run: RunRow; steps: StepRow[] }> {
    const tables = this.database.tables();
    const run = await tables.selectFrom('run').selectAll().where('id', '=', id).executeTakeFirst();
    if (!run) throw new NotFound('No such run');
    const { rows: steps } = await sql<StepRow>`
      select s.*, m.model from run_step s left join message m on m.run_id = s.run_id and m.step = s.number and m.role = 'assistant'
      where s.run_id = ${id} order by s.number`.execute(tables);
    return { run, steps };
  }
}
