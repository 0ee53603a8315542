import { Injectable, OnModuleInit } from '@nestjs/common';
import { GuardedFetch } from '#libs/guarded-fetch/index.js';
import type { Actor } from '../../../platform/access/index.js';
import { Audit } from '../../../platform/audit/index.js';
import { beforeSideEffect, Database, type UnitOfWork } from '../../../platform/database/index.js';
import { Conflict } from '../../../platform/errors/index.js';
import {
  type FlowHandler,
  type FlowOutcome,
  type FlowRequest,
  OAuthFlows,
  type ReturnedFlow,
} from '../../flows/index.js';
import {
  ClientRejected,
  GrantRejected,
  ProviderFault,
  requestTokens,
  type TokenSet,
} from '../../tokens/index.js';
import { type ConnectorRow, ConnectorsStore, CredentialsStore, type StoredClient } from '../records/index.js';
import { type AuthorizationServer, discover } from './authorization-server.js';
import { CALLBACK } from './client-document.js';
import { CLIENT_SECRET, ClientRegistration } from './client-registration.js';
import { CredentialKeeper, permissionToAuthorize } from './credential-keeper.js';

/** What a flow is to know when it comes back. */
interface Context {
  readonly client: StoredClient;
  readonly client_secret?: string;
  readonly issuer: string;
  readonly resource: string;
  readonly scopes: readonly string[];
}

/** Authorizes connectors at their authorization servers. */
@Injectable()
export class ConnectorAuthorization implements FlowHandler, OnModuleInit {
  readonly kind = 'connector';
  readonly redirectPath = CALLBACK;

  constructor(
    private readonly database: Database,
    private readonly outgoing: GuardedFetch,
    private readonly connectors: ConnectorsStore,
    private readonly credentials: CredentialsStore,
    private readonly registration: ClientRegistration,
    private readonly keeper: CredentialKeeper,
    private readonly flows: OAuthFlows,
    private readonly audit: Audit,
  ) {}

  onModuleInit(): void {
    this.flows.register(this);
  }

  /** What a person is to be sent on with, found out before any transaction. Throws Conflict. */
  async prepare(actor: Actor, connector: ConnectorRow, returnPath: string | undefined): Promise<FlowRequest> {
    beforeSideEffect();
    const server = await discover(this.outgoing, connector);
    const userId = connector.per_user ? actor.id : null;
    const before = await this.credentials.of({ connectorId: connector.id, userId });
    const { client, secret } = await this.registration.at(server, connector, before);
    const scopes = server.scopes ?? [];
    const context: Context = {
      client,
      issuer: server.issuer,
      resource: server.resource,
      scopes,
      ...(secret !== undefined && { client_secret: secret }),
    };
    return {
      kind: this.kind,
      subject_id: connector.id,
      organization_id: connector.organization_id,
      provider: connector.name,
      endpoint: server.authorizationEndpoint,
      params: paramsOf(server, client),
      issuer: server.issuer,
      namesIssuer: server.namesIssuer,
      returnPath,
      context: { ...context },
    };
  }

  async finish(person: Actor, flow: ReturnedFlow): Promise<FlowOutcome> {
    const context = flow.context as unknown as Context;
    const connector = await this.connectors.find(flow.subject_id);
    if (!connector) throw new Conflict('The connector was deleted meanwhile');
    await this.connectors.require(person, permissionToAuthorize(connector), connector.id);
    const tokens = await this.exchange(flow, context);
    const userId = connector.per_user ? person.id : null;
    await this.database.transaction(async unit => {
      const { client, issuer, resource } = context;
      await this.keeper.keep(unit, connector, userId, tokens, { client, issuer, resource });
      const target = { type: 'connector', id: connector.id, organization_id: connector.organization_id };
      const details = { issuer, scopes: tokens.scopes, registered: client.by };
      await this.audit.record(unit, person, 'connector.authorize', target, details);
    });
    return {
      title: `${connector.name} is connected`,
      text: 'Its tools are being looked up. Agents have those that a person approves.',
    };
  }

  /** Nothing is asked. */
  async confirm(_unit: UnitOfWork, _person: Actor, flow: FlowRequest): Promise<FlowOutcome> {
    throw new Conflict(`There is nothing to confirm about ${flow.provider}`);
  }

  private async exchange(flow: ReturnedFlow, context: Context): Promise<TokenSet> {
    const { client, client_secret, resource, scopes } = context;
    const { code, verifier: code_verifier, redirectUri: redirect_uri } = flow;
    const params = { grant_type: 'authorization_code', code, code_verifier, redirect_uri, resource };
    try {
      const given = await requestTokens(this.outgoing, {
        url: client.token_endpoint,
        client: { id: client.id, secret: client_secret, auth: client.auth },
        params,
      });
      const values = client_secret === undefined ? undefined : { [CLIENT_SECRET]: client_secret };
      return { ...given, scopes: given.scopes ?? scopes, values };
    } catch (error) {
      const isOurs =
        error instanceof GrantRejected || error instanceof ClientRejected || error instanceof ProviderFault;
      if (isOurs) throw new Conflict(`${flow.provider} gave no access: ${error.message}. Start again.`);
      throw error;
    }
  }
}

function paramsOf({ scopes, resource }: AuthorizationServer, { id }: StoredClient): Record<string, string> {
  const asked = scopes?.join(' ') ?? '';
  return { client_id: id, resource, ...(asked !== '' && { scope: asked }) };
}
