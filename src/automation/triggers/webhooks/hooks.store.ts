import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '../../../platform/database/index.js';
import type { TriggerRow } from '../../automation/index.js';

/** A webhook that was found by its address. */
export type Hook = Pick<TriggerRow, 'id' | 'deployment_id' | 'config' | 'secrets'> & {
  readonly state: 'live' | 'paused' | 'stopped';
};

/** Finds webhooks by their addresses. */
@Injectable()
export class HooksStore {
  constructor(private readonly database: Database) {}

  async find(tokenHash: string): Promise<Hook | undefined> {
    const { rows } = await sql<Hook>`
      select t.id, t.deployment_id, t.config, t.secrets, d.state
      from automation_trigger t join automation_deployment d on d.id = t.deployment_id
      where (t.token_hash = ${tokenHash} or (t.old_token_hash = ${tokenHash} and t.old_token_until > now()))
        and t.kind = 'webhook' and t.position is not null`.execute(this.database.tables());
    return rows[0];
  }
}
