import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { visibleTo } from '../../../platform/access/index.js';
import { Database, type Row, type UnitOfWork } from '../../../platform/database/index.js';
import type { DeploymentRow, NotificationTrigger, TriggerRow } from '../../automation/index.js';

/** A notification trigger of a deployment that no other process works on. */
export type ReadingTrigger = Pick<TriggerRow, 'id'> & {
  readonly config: NotificationTrigger;
  /** The number of the last notification that it has seen. */
  readonly cursor: string;
};

export type AddressedNotification = Row<'notification'>;

/** What notification triggers have seen of the inboxes of the people for whom their deployments act. */
@Injectable()
export class NotificationTriggersStore {
  constructor(private readonly database: Database) {}

  /** Live deployments with notifications that their triggers have not seen. A service account has no inbox. */
  async unread(): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select distinct d.id from automation_trigger t join automation_deployment d on d.id = t.deployment_id
      where t.kind = 'notification' and t.position is not null and t.cursor is not null and d.state = 'live'
        and d.actor ->> 'type' = 'user'
        and exists (select from notification n where n.user_id = (d.actor ->> 'id')::uuid and n.number > t.cursor)`.execute(
      this.database.tables(),
    );
    return rows.map(({ id }) => id);
  }

  /** The deployment, which no other process works on before `unit` ends, with its triggers; undefined where it is not live. */
  async take(
    unit: UnitOfWork,
    deploymentId: string,
  ): Promise<{ deployment: DeploymentRow; triggers: ReadingTrigger[] } | undefined> {
    const { rows } = await sql<DeploymentRow>`
      select * from automation_deployment where id = ${deploymentId} and state = 'live' and actor ->> 'type' = 'user'
      for no key update`.execute(unit.tables());
    const [deployment] = rows;
    if (!deployment) return undefined;
    const { rows: triggers } = await sql<ReadingTrigger>`
      select id, config, cursor from automation_trigger where deployment_id = ${deploymentId} and kind = 'notification'
        and position is not null and cursor is not null
      order by position`.execute(unit.tables());
    return { deployment, triggers };
  }

  /**
   * What is addressed to the person for whom the deployment acts, as far as they see it now: about its workspace, and about its
   * organization where the trigger names the category. What is about the person alone, or other workspaces, stays theirs.
   */
  async between(
    unit: UnitOfWork,
    { actor, workspace_id, organization_id }: DeploymentRow,
    { after, newest }: { after: string; newest: string },
    categories: readonly string[],
    limit: number,
  ): Promise<AddressedNotification[]> {
    const onlooker = { ...actor, surface: undefined };
    const { rows } = await sql<AddressedNotification>`
      select n.* from notification n where n.user_id = ${actor.id} and n.number > ${after} and n.number <= ${newest} and (
        (n.workspace_id = ${workspace_id} and n.workspace_id in (select v.id from ${visibleTo(onlooker)} v))
        or (n.workspace_id is null and n.organization_id = ${organization_id} and n.category = any(${[...categories]}::text[])
          and exists (select from membership m where m.principal_id = n.user_id and m.organization_id = n.organization_id)))
      order by n.number limit ${limit}`.execute(unit.tables());
    return rows;
  }

  /** The number of the newest notification of a person; 0 before the first. Those before it are there already. */
  async newest(unit: UnitOfWork, userId: string): Promise<string> {
    const { rows } = await sql<{ number: string }>`
      select number from notification where user_id = ${userId} order by number desc limit 1`.execute(
      unit.tables(),
    );
    return rows[0]?.number ?? '0';
  }

  async setCursor(unit: UnitOfWork, id: string, cursor: string): Promise<void> {
    await unit.tables().updateTable('automation_trigger').set({ cursor }).where('id', '=', id).execute();
  }

  /** The trigger counts what a person is notified of from now on. */
  async begin(unit: UnitOfWork, id: string, userId: string): Promise<void> {
    const cursor = await this.newest(unit, userId);
    await sql`update automation_trigger set cursor = ${cursor}, since = now(), gathered = ${JSON.stringify({ user_id: userId })}::jsonb
      where id = ${id}`.execute(unit.tables());
  }
}
