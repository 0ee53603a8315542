import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { StepUsage } from '#libs/model-client/index.js';
import { enterModelCall, type PayingRun } from '../../../identity/billing/index.js';
import { Database } from '../../../platform/database/index.js';
import type { LoopRow } from './loop-state.js';

/** A model call that a grader has made. */
interface GraderCall {
  readonly model: string;
  readonly usage: StepUsage;
  /** null: the price is not known. */
  readonly costUsd: number | null;
}

/** Model calls of graders: what they cost counts for the loop, and is entered into the organization's ledger with that. */
@Injectable()
export class GraderCalls {
  constructor(private readonly database: Database) {}

  async enter(
    { id, iteration }: Pick<LoopRow, 'id' | 'iteration'>,
    { model, usage, costUsd }: GraderCall,
  ): Promise<void> {
    await this.database.transaction(async unit => {
      await sql`update loop set spent_usd = spent_usd + ${costUsd}::float8 where id = ${id}`.execute(
        unit.tables(),
      );
      const { rows } = await sql<PayingRun>`
        with noted as (
          update loop_iteration set grading_usd = grading_usd + ${costUsd}::float8
          where loop_id = ${id} and number = ${iteration} returning call_id
        )
        select noted.call_id as id, l.organization_id, l.workspace_id, l.chat_id, (l.actor ->> 'id')::uuid as created_by,
          (select deployment_id from run where run.id = noted.call_id) as deployment_id
        from noted, loop l where l.id = ${id}`.execute(unit.tables());
      const [paying] = rows;
      if (paying) await enterModelCall(unit, paying, { step: null, model, usage, costUsd });
    });
  }
}
