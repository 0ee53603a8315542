import { Injectable } from '@nestjs/common';
import { type NotNull, sql } from 'kysely';
import type { HostedKind } from '../../../hosting/hosts/index.js';
import { Database, type Row } from '../../../platform/database/index.js';

export type ConnectorOwner = Pick<Row<'connector'>, 'id' | 'organization_id' | 'user_id' | 'name'>;

/** What sources look up to put things into words. */
@Injectable()
export class SourcesStore {
  constructor(private readonly database: Database) {}

  async organizationName(id: string): Promise<string | undefined> {
    return (await this.find('organization', id))?.name;
  }

  async workspaceName(id: string): Promise<string | undefined> {
    return (await this.find('workspace', id))?.name;
  }

  connector(id: string): Promise<ConnectorOwner | undefined> {
    const query = this.database
      .tables()
      .selectFrom('connector')
      .select(['id', 'organization_id', 'user_id', 'name']);
    return query.where('id', '=', id).executeTakeFirst();
  }

  /** The connector that these tokens are for; of a person's own account, with that person. `lost_at` tells losses apart. */
  async connectorOfTokens(tokenSetId: string): Promise<(ConnectorOwner & { lost_at: string }) | undefined> {
    const { rows } = await sql<ConnectorOwner & { lost_at: string }>`
      select c.id, c.organization_id, coalesce(c.user_id, r.user_id) as user_id, c.name, s.updated_at::text as lost_at
      from connector_credential r join connector c on c.id = r.connector_id join token_set s on s.id = r.token_set_id
      where s.id = ${tokenSetId} and s.state = 'needs_reauth'`.execute(this.database.tables());
    return rows[0];
  }

  /** Whose account has the address, if there is one. */
  async personWith(email: string): Promise<string | undefined> {
    const query = this.database.tables().selectFrom('user').select('id').where('email', '=', email);
    return (await query.executeTakeFirst())?.id;
  }

  async inviterOf(invitationId: string): Promise<string | undefined> {
    const query = this.database
      .tables()
      .selectFrom('invitation')
      .select('invited_by')
      .where('id', '=', invitationId);
    return (await query.executeTakeFirst())?.invited_by;
  }

  /** Whether a person who had signed in before this session never did so with its program. Ids of sessions rise by time. */
  async isNewProgram({
    id,
    user_id,
    user_agent,
  }: Pick<Row<'session'>, 'id' | 'user_id' | 'user_agent'>): Promise<boolean> {
    const { rows } = await sql<{ is_new: boolean }>`
      select count(*) > 0 and count(*) filter (where user_agent is not distinct from ${user_agent}) = 0 as is_new
      from session where user_id = ${user_id} and id < ${id}`.execute(this.database.tables());
    return rows[0]?.is_new === true;
  }

  /** A run, and what its chat is called. */
  async run(id: string) {
    return this.database
      .tables()
      .selectFrom('run as r')
      .innerJoin('chat as c', 'c.id', 'r.chat_id')
      .select([
        'r.id',
        'r.chat_id',
        'r.organization_id',
        'r.workspace_id',
        'r.parent_id',
        'r.loop_id',
        'r.created_by',
        'r.actor',
        'r.deployment_id',
        'r.error',
        'c.title',
      ])
      .where('r.id', '=', id)
      .executeTakeFirst();
  }

  /** A loop, and what its chat is called, where that is there. */
  async loop(id: string) {
    return this.database
      .tables()
      .selectFrom('loop as l')
      .leftJoin('chat as c', 'c.id', 'l.chat_id')
      .select(['l.organization_id', 'l.workspace_id', 'l.chat_id', 'l.outcome', 'l.reason', 'l.iteration'])
      .select(['l.actor', 'c.title'])
      .where('l.id', '=', id)
      .executeTakeFirst();
  }

  /** A deployment with the version that is live, and who deployed that. */
  async deployment(id: string) {
    return this.database
      .tables()
      .selectFrom('automation_deployment as d')
      .innerJoin('automation_version as v', join =>
        join.onRef('v.deployment_id', '=', 'd.id').onRef('v.number', '=', 'd.version'),
      )
      .select(['d.id', 'd.organization_id', 'd.workspace_id', 'd.file_path', 'd.state', 'd.paused_reason'])
      .select(['d.version', 'd.drift', 'd.actor', 'd.last_success_at', 'v.definition', 'v.deployed_by'])
      .where('d.id', '=', id)
      .executeTakeFirst();
  }

  async automationRun(id: string) {
    return this.database
      .tables()
      .selectFrom('automation_run')
      .select(['id', 'deployment_id', 'actor', 'status', 'stop_reason', 'error', 'trigger_kind', 'chain'])
      .where('id', '=', id)
      .executeTakeFirst();
  }

  /** A version of a site, and what the site is called. */
  async siteVersion(id: string) {
    return this.database
      .tables()
      .selectFrom('site_version as v')
      .innerJoin('site as s', 's.id', 'v.site_id')
      .innerJoin('workspace as w', 'w.id', 's.workspace_id')
      .select([
        'v.id',
        'v.site_id',
        'v.number',
        'v.state',
        'v.error',
        'v.promotion',
        'v.promotion_reason',
        'v.chain',
      ])
      .select([
        'v.created_by',
        's.name',
        's.created_by as owner',
        'w.id as workspace_id',
        'w.organization_id',
      ])
      .where('v.id', '=', id)
      .executeTakeFirst();
  }

  /** Of a template that somebody published. */
  async templateVersion(id: string) {
    return this.database
      .tables()
      .selectFrom('template_version as v')
      .innerJoin('template as t', 't.id', 'v.template_id')
      .select(['v.id', 'v.template_id', 'v.number', 'v.state', 'v.files', 'v.chain', 't.name'])
      .select(['v.published_by', 't.organization_id', 't.workspace_id'])
      .where('v.id', '=', id)
      .where('t.organization_id', 'is not', null)
      .$narrowType<{ published_by: NotNull; organization_id: NotNull; workspace_id: NotNull }>()
      .executeTakeFirst();
  }

  async operation(id: string) {
    return this.database
      .tables()
      .selectFrom('operation')
      .select(['id', 'state', 'error', 'actor_id', 'organization_id', 'subject_id', 'chain'])
      .where('id', '=', id)
      .executeTakeFirst();
  }

  /** The repository that an operation clones. */
  clonedBy(operationId: string) {
    const query = this.database.tables().selectFrom('git_repo').select(['id', 'path']);
    return query.where('operation_id', '=', operationId).executeTakeFirst();
  }

  async connection(id: string) {
    const columns = [
      'id',
      'organization_id',
      'user_id',
      'created_by',
      'name',
      'provider',
      'state',
      'reason',
    ] as const;
    const query = this.database
      .tables()
      .selectFrom('integration_connection')
      .select([...columns, 'account']);
    return query.where('id', '=', id).executeTakeFirst();
  }

  async server(id: string) {
    return this.database
      .tables()
      .selectFrom('server as s')
      .innerJoin('workspace as w', 'w.id', 's.workspace_id')
      .select(['s.id', 's.name', 's.state', 's.reason', 's.created_by', 's.actor', 's.workspace_id'])
      .select('w.organization_id')
      .where('s.id', '=', id)
      .executeTakeFirst();
  }

  /** A custom host that was verified once. */
  async domain(kind: HostedKind, targetId: string, host: string) {
    return this.database
      .tables()
      .selectFrom('host_name as h')
      .innerJoin('workspace as w', 'w.id', 'h.workspace_id')
      .select(['h.name', 'h.state', 'h.problem', 'h.failing_since', 'h.created_by'])
      .select(['w.id as workspace_id', 'w.organization_id'])
      .where('h.source', '=', 'custom')
      .where('h.kind', '=', kind)
      .where('h.target_id', '=', targetId)
      .where('h.name', '=', host)
      .executeTakeFirst();
  }

  private find(table: 'organization' | 'workspace', id: string): Promise<{ name: string } | undefined> {
    return this.database.tables().selectFrom(table).select('name').where('id', '=', id).executeTakeFirst();
  }
}
