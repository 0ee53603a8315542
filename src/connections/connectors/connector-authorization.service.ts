import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database } from '../../platform/database/index.js';
import { ById, DeletedView } from '../../platform/dto/index.js';
import { Conflict, Invalid } from '../../platform/errors/index.js';
import { OAuthFlows } from '../stored-credentials/index.js';
import { ConnectorAuthorization } from './authorization/connector-authorization.js';
import {
  CredentialKeeper,
  permissionToAuthorize,
  typedCredential,
} from './authorization/credential-keeper.js';
import { ConnectorChecks } from './calls/connector-checks.js';
import { ConnectorViews } from './connector-views.js';
import { AuthorizeConnector, ConnectorAuthorizationView, ConnectorTestView } from './connectors.dto.js';
import { type ConnectorRow } from './records/connector-rows.js';
import { ConnectorsStore } from './records/connectors.store.js';

@Injectable()
export class ConnectorAuthorizationService {
  constructor(
    private readonly database: Database,
    private readonly connectors: ConnectorsStore,
    private readonly authorization: ConnectorAuthorization,
    private readonly keeper: CredentialKeeper,
    private readonly flows: OAuthFlows,
    private readonly audit: Audit,
  ) {}

  @Action('connector_authorize', 'POST /api/connectors/:id/authorize', {
    on: { id: 'connector' },
    summary: 'Give a connector its credential, or a new one; its id, its tools and where it is used stay',
    description:
      'With auth oauth, the answer says where to send the person, who signs in here and at the server. Where each person uses ' +
      'it with an account of their own, it is that of the caller.',
    consequence: 'Agents use the connector with that credential, where it is allowed.',
    permission: 'connection.manage',
    input: AuthorizeConnector,
    output: ConnectorAuthorizationView,
    commitsAnswer: true,
    refuses: { 409: 'It cannot be found out who gives access, or how' },
  })
  async authorize(actor: Actor, { id, ...given }: AuthorizeConnector): Promise<ConnectorAuthorizationView> {
    const connector = await this.require(actor, id);
    const { auth, per_user } = connector;
    if (auth === 'none') throw new Conflict('This connector takes no credential');
    const typed = typedCredential(connector, given);
    if (auth !== 'oauth' && !typed)
      throw new Invalid(`${auth === 'bearer' ? 'token' : 'headers'} is required`);
    if (typed && given.return_path !== undefined)
      throw new Invalid('return_path is for connectors with auth oauth');
    const request = typed ? undefined : await this.authorization.prepare(actor, connector, given.return_path);
    return this.database.transaction(async unit => {
      if (request) return unit.answers(await this.flows.begin(unit, actor, request));
      if (typed) await this.keeper.keep(unit, connector, per_user ? actor.id : null, typed);
      await this.record(unit, actor, connector, 'connector.authorize');
      return unit.answers({ authorize_url: null, expires_at: null });
    });
  }

  @Action('connector_revoke', 'DELETE /api/connectors/:id/authorization', {
    on: { id: 'connector' },
    summary: "Forget the credential of a connector; where each person has one, the caller's",
    effect: 'destructive',
    consequence: 'Agents cannot use it until it is authorized again.',
    permission: 'connection.manage',
    input: ById({ id: 'The connector' }),
    output: DeletedView,
  })
  async revoke(actor: Actor, { id }: ById): Promise<DeletedView> {
    const connector = await this.require(actor, id);
    await this.database.transaction(async unit => {
      await this.connectors.lock(unit, id);
      await this.keeper.remove(unit, id, connector.per_user ? actor.id : null);
      await this.connectors.publish(unit, id);
      await this.record(unit, actor, connector, 'connector.revoke');
    });
    return DeletedView.of(id);
  }

  private async require(actor: Actor, id: string): Promise<ConnectorRow> {
    const connector = await this.connectors.require(actor, 'connection.manage', id);
    if (!connector.per_user) await this.connectors.require(actor, permissionToAuthorize(connector), id);
    else if (actor.type !== 'user')
      throw new Conflict('Each person uses this connector with an account of their own');
    return connector;
  }

  private async record(
    unit: Parameters<Audit['record']>[0],
    actor: Actor,
    connector: ConnectorRow,
    what: string,
  ) {
    const { id, organization_id, auth } = connector;
    await this.audit.record(unit, actor, what, { type: 'connector', id, organization_id }, { auth });
  }
}

@Injectable()
export class ConnectorTests {
  constructor(
    private readonly connectors: ConnectorsStore,
    private readonly checks: ConnectorChecks,
    private readonly views: ConnectorViews,
  ) {}

  @Action('connector_test', 'POST /api/connectors/:id/test', {
    on: { id: 'connector' },
    summary: 'Ask the server of a connector what it is, and which tools it has now',
    effect: 'write',
    permission: 'connection.manage',
    input: ById({ id: 'The connector' }),
    output: ConnectorTestView,
    evidence: 'read the connector: checked_at says when its server was asked last',
  })
  async test(actor: Actor, { id }: ById): Promise<ConnectorTestView> {
    const connector = await this.connectors.require(actor, 'connection.manage', id);
    await this.connectors.require(actor, permissionToAuthorize(connector), id);
    const checked = await this.checks.check(connector, actor.type === 'user' ? actor.id : null);
    const now = await this.connectors.require(actor, 'connection.manage', id);
    const view = await this.views.one(actor, now);
    if (!checked.ok) return { ok: false, reason: checked.reason, latency_ms: null, connector: view };
    return { ok: true, reason: null, latency_ms: checked.latencyMs, connector: view };
  }
}
