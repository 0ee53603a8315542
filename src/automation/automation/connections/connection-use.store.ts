import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Actor } from '../../../platform/access/index.js';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';

/** Why a deployment is paused that resumes by itself; people who pause it give another reason. */
export const CONNECTION_UNUSABLE = 'connection_unusable';

/** Whether the automation `v` of the deployment `d` lists the connection `c`, and may use it. */
const USES = sql`(c.user_id is null or c.user_id::text = d.actor->>'id')
  and (jsonb_exists(v.definition->'connections', c.provider) or jsonb_exists(v.definition->'connections', c.name))`;
/** Whether another connection that is usable does as well as `c`. */
const HAS_ANOTHER = sql`exists (
  select from connection_grant g2 join integration_connection c2 on c2.id = g2.connection_id
  where g2.workspace_id = d.workspace_id and c2.id <> c.id and c2.state = 'active'
    and (c2.user_id is null or c2.user_id::text = d.actor->>'id')
    and ((c2.provider = c.provider and jsonb_exists(v.definition->'connections', c.provider))
      or (c2.name = c.name and jsonb_exists(v.definition->'connections', c.name))))`;
const DEPLOYED = sql`automation_deployment d
  join automation_version v on v.deployment_id = d.id and v.number = d.version`;
const GRANTED = sql`connection_grant g join integration_connection c on c.id = g.connection_id`;

/** Which automations use which connections. */
@Injectable()
export class ConnectionUseStore {
  constructor(private readonly database: Database) {}

  /** What the automation lists on whose behalf a caller acts; null where it acts for none. */
  async listedFor({ credential }: Actor): Promise<readonly string[] | null> {
    if (credential.type !== 'exec') return null;
    const ofRun = sql`
      with recursive above as (
        select id, parent_id, automation_run_id from run where id = ${credential.run?.id ?? null}::uuid
        union all select r.id, r.parent_id, r.automation_run_id from run r join above a on a.parent_id = r.id)
      select automation_run_id from above where automation_run_id is not null limit 1`;
    // A script in its sandbox acts as the run itself, elsewhere by a token of it.
    const ofToken = sql`
      select caller_id::uuid from exec_token where id = ${credential.id} and caller_kind = 'automation'`;
    const { rows } = await sql<{ list: string[] }>`
      select coalesce(r.draft->'definition'->'connections', v.definition->'connections', '[]') as list
      from automation_run r
      left join automation_version v on v.deployment_id = r.deployment_id and v.number = r.version
      where r.id = coalesce((${ofRun}), (${ofToken}), ${credential.id}::uuid)`.execute(
      this.database.tables(),
    );
    return rows[0]?.list ?? null;
  }

  /** Live deployments that cannot go on without a connection. */
  async dependingOn(unit: UnitOfWork, connectionId: string): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select d.id from ${DEPLOYED} join ${GRANTED} on g.workspace_id = d.workspace_id
      where d.state = 'live' and c.id = ${connectionId} and ${USES} and not ${HAS_ANOTHER}
      order by d.id for no key update of d`.execute(unit.tables());
    return rows.map(({ id }) => id);
  }

  /** Deployments that were paused for connections, and can go on now that this one is usable. */
  async freedBy(unit: UnitOfWork, connectionId: string): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select d.id from ${DEPLOYED} join ${GRANTED} on g.workspace_id = d.workspace_id
      where d.state = 'paused' and d.paused_reason like ${`${CONNECTION_UNUSABLE}:%`} and c.id = ${connectionId} and ${USES}
        and not exists (
          select from ${GRANTED} where g.workspace_id = d.workspace_id and c.state not in ('active', 'pending')
            and ${USES} and not ${HAS_ANOTHER})
      order by d.id for no key update of d`.execute(unit.tables());
    return rows.map(({ id }) => id);
  }
}
