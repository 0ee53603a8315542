import { Injectable } from '@nestjs/common';
import { type NotNull, sql } from 'kysely';
import { ApprovalsStore, ApprovalWording } from '../../../agents/approvals/index.js';
import { QuestionsStore, QuestionViews } from '../../../agents/questions/index.js';
import type { HostedKind } from '../../../hosting/gateway/index.js';
import { Database, type Row } from '../../../platform/database/index.js';

type Found<Look extends keyof SourcesStore> = NonNullable<Awaited<ReturnType<SourcesStore[Look]>>>;
export type Approval = Found<'approval'>;
export type Question = Found<'question'>;
export type Run = Found<'run'>;
export type Deployment = Found<'deployment'>;
export type DeployedRun = Found<'deployedRun'>;
export type Clone = Found<'clone'>;
export type SiteVersion = Found<'siteVersion'>;
export type Server = Found<'server'>;
export type Domain = Found<'failingDomain'>;
export type Connection = Found<'connection'>;
export type TemplateVersion = Found<'templateVersion'>;

type Connector = Pick<Row<'connector'>, 'id' | 'organization_id' | 'user_id' | 'name'>;

/** What notifications are about, read as it is now. */
@Injectable()
export class SourcesStore {
  constructor(
    private readonly database: Database,
    private readonly approvals: ApprovalsStore,
    private readonly approvalWording: ApprovalWording,
    private readonly questions: QuestionsStore,
    private readonly questionViews: QuestionViews,
  ) {}

  async organizationName(id: string): Promise<string | undefined> {
    return (await this.find('organization', id))?.name;
  }

  async workspaceName(id: string): Promise<string | undefined> {
    return (await this.find('workspace', id))?.name;
  }

  /** The person whose account has the address. */
  async personWith(email: string): Promise<string | undefined> {
    const query = this.tables().selectFrom('user').select('id').where('email', '=', email);
    return (await query.executeTakeFirst())?.id;
  }

  async inviter(invitationId: string): Promise<string | undefined> {
    const query = this.tables().selectFrom('invitation').select('invited_by').where('id', '=', invitationId);
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
      from session where user_id = ${user_id} and id < ${id}`.execute(this.tables());
    return rows[0]?.is_new === true;
  }

  async approval(id: string) {
    const row = await this.approvals.find(id);
    if (!row) return undefined;
    const run = row.run_id ? await this.run(row.run_id) : undefined;
    const { summary } = this.approvalWording.of(row.tool);
    return { ...row, summary, link: this.approvalWording.linkTo(id), chain: run?.actor.chain };
  }

  async question(id: string) {
    const row = await this.questions.find(id);
    if (!row) return undefined;
    const run = await this.run(row.run_id);
    return { ...row, chat: run?.title, link: this.questionViews.linkTo(id), chain: run?.actor.chain };
  }

  /** A run, and the title of its chat. */
  async run(id: string) {
    return this.tables()
      .selectFrom('run as r')
      .innerJoin('chat as c', 'c.id', 'r.chat_id')
      .select(['r.id', 'r.chat_id', 'r.organization_id', 'r.workspace_id', 'r.parent_id', 'r.loop_id'])
      .select(['r.created_by', 'r.actor', 'r.deployment_id', 'r.error', 'c.title'])
      .where('r.id', '=', id)
      .executeTakeFirst();
  }

  /** A loop that was not resumed since it ended, and the title of its chat. */
  async finishedLoop(id: string) {
    return this.tables()
      .selectFrom('loop as l')
      .leftJoin('chat as c', 'c.id', 'l.chat_id')
      .select(['l.organization_id', 'l.workspace_id', 'l.chat_id', 'l.outcome', 'l.reason', 'l.iteration'])
      .select(['l.actor', 'c.title'])
      .where('l.id', '=', id)
      .where('l.outcome', 'is not', null)
      .$narrowType<{ outcome: NotNull }>()
      .executeTakeFirst();
  }

  /** A deployment with its live version, and who deployed that. */
  async deployment(id: string) {
    return this.tables()
      .selectFrom('automation_deployment as d')
      .innerJoin('automation_version as v', join =>
        join.onRef('v.deployment_id', '=', 'd.id').onRef('v.number', '=', 'd.version'),
      )
      .select(['d.id', 'd.organization_id', 'd.workspace_id', 'd.file_path', 'd.state', 'd.paused_reason'])
      .select(['d.version', 'd.drift', 'd.actor', 'd.last_success_at', 'v.definition', 'v.deployed_by'])
      .where('d.id', '=', id)
      .executeTakeFirst();
  }

  /** The deployment of a run, and the run. */
  async deployedRun(id: string) {
    const run = await this.tables()
      .selectFrom('automation_run')
      .select(['id', 'deployment_id', 'actor', 'stop_reason', 'error', 'trigger_kind'])
      .where('id', '=', id)
      .executeTakeFirst();
    const deployment = run?.deployment_id ? await this.deployment(run.deployment_id) : undefined;
    return run && deployment && { ...deployment, run };
  }

  /** A version of a site, and the site's name and owner. */
  async siteVersion(id: string) {
    return this.tables()
      .selectFrom('site_version as v')
      .innerJoin('site as s', 's.id', 'v.site_id')
      .innerJoin('workspace as w', 'w.id', 's.workspace_id')
      .select(['v.id', 'v.site_id', 'v.number', 'v.state', 'v.error', 'v.promotion', 'v.promotion_reason'])
      .select(['v.chain', 'v.created_by', 's.name', 's.created_by as owner'])
      .select(['w.id as workspace_id', 'w.organization_id'])
      .where('v.id', '=', id)
      .executeTakeFirst();
  }

  async server(id: string) {
    return this.tables()
      .selectFrom('server as s')
      .innerJoin('workspace as w', 'w.id', 's.workspace_id')
      .select(['s.id', 's.name', 's.state', 's.reason', 's.created_by', 's.actor', 's.workspace_id'])
      .select('w.organization_id')
      .where('s.id', '=', id)
      .executeTakeFirst();
  }

  /** A custom host that was verified once, and whose record is missing. */
  async failingDomain({ kind, target_id, host }: { kind: HostedKind; target_id: string; host: string }) {
    return this.tables()
      .selectFrom('host_name as h')
      .innerJoin('workspace as w', 'w.id', 'h.workspace_id')
      .select(['h.name', 'h.state', 'h.problem', 'h.failing_since', 'h.created_by'])
      .select(['w.id as workspace_id', 'w.organization_id'])
      .where('h.source', '=', 'custom')
      .where('h.kind', '=', kind)
      .where('h.target_id', '=', target_id)
      .where('h.name', '=', host)
      .where('h.failing_since', 'is not', null)
      .executeTakeFirst();
  }

  /** A version of a template that an organization published. */
  async templateVersion(id: string) {
    return this.tables()
      .selectFrom('template_version as v')
      .innerJoin('template as t', 't.id', 'v.template_id')
      .select(['v.id', 'v.template_id', 'v.number', 'v.files', 'v.chain', 't.name'])
      .select(['v.published_by', 't.organization_id', 't.workspace_id'])
      .where('v.id', '=', id)
      .where('t.organization_id', 'is not', null)
      .$narrowType<{ published_by: NotNull }>()
      .executeTakeFirst();
  }

  operation(id: string) {
    return this.operations(id).executeTakeFirst();
  }

  /** An operation that clones a repository, and the repository. */
  async clone(operationId: string) {
    return this.operations(operationId)
      .innerJoin('git_repo as g', 'g.operation_id', 'o.id')
      .select(['g.id as git_repo_id', 'g.path'])
      .executeTakeFirst();
  }

  async connection(id: string) {
    return this.tables()
      .selectFrom('integration_connection')
      .select(['id', 'organization_id', 'user_id', 'name', 'state', 'reason', 'account'])
      .where('id', '=', id)
      .executeTakeFirst();
  }

  connector(id: string): Promise<Connector | undefined> {
    return this.tables()
      .selectFrom('connector')
      .select(['id', 'organization_id', 'user_id', 'name'])
      .where('id', '=', id)
      .executeTakeFirst();
  }

  /** The connector of lost tokens; of a person's own account, with that person. `lost_at` tells losses apart. */
  async connectorOfTokens(tokenSetId: string): Promise<(Connector & { lost_at: string }) | undefined> {
    const { rows } = await sql<Connector & { lost_at: string }>`
      select c.id, c.organization_id, coalesce(c.user_id, r.user_id) as user_id, c.name, s.updated_at::text as lost_at
      from connector_credential r join connector c on c.id = r.connector_id join token_set s on s.id = r.token_set_id
      where s.id = ${tokenSetId} and s.state = 'needs_reauth'`.execute(this.tables());
    return rows[0];
  }

  private operations(id: string) {
    return this.tables()
      .selectFrom('operation as o')
      .select(['o.id', 'o.state', 'o.error', 'o.actor_id', 'o.organization_id', 'o.chain'])
      .select('o.subject_id as workspace_id')
      .where('o.id', '=', id)
      .where('o.organization_id', 'is not', null);
  }

  private find(table: 'organization' | 'workspace', id: string): Promise<{ name: string } | undefined> {
    return this.tables().selectFrom(table).select('name').where('id', '=', id).executeTakeFirst();
  }

  private tables() {
    return this.database.tables();
  }
}
