import { Injectable, OnModuleInit } from '@nestjs/common';
import { GuardedFetch } from '#libs/guarded-fetch/index.js';
import type { Actor } from '../../../platform/access/index.js';
import { Audit } from '../../../platform/audit/index.js';
import { beforeSideEffect, type UnitOfWork } from '../../../platform/database/index.js';
import { Conflict } from '../../../platform/errors/index.js';
import {
  type FlowHandler,
  type FlowOutcome,
  type FlowRequest,
  type Grant,
  isProviderProblem,
  OAuthFlows,
  type ReturnedFlow,
  requestTokens,
} from '../../stored-credentials/index.js';
import { type ConnectorRow, type StoredClient } from '../records/connector-rows.js';
import { ConnectorsStore } from '../records/connectors.store.js';
import { CredentialsStore } from '../records/credentials.store.js';
import { type AuthorizationServer, discover } from './authorization-server.js';
import { CALLBACK } from './client-document.js';
import { CLIENT_SECRET, ClientRegistration } from './client-registration.js';
import { CredentialKeeper, permissionToAuthorize } from './credential-keeper.js';

/** Sealed in the flow until the person comes back. */
interface Context {
  readonly client: StoredClient;
  readonly client_secret?: string;
  readonly issuer: string;
  readonly resource: string;
  readonly scopes: readonly string[];
}

@Injectable()
export class ConnectorAuthorization implements FlowHandler, OnModuleInit {
  readonly kind = 'connector';
  readonly redirectPath = CALLBACK;

  constructor(
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

  /** Request that the person is sent on with. Asks other servers, so never in a transaction. Throws Conflict. */
  async prepare(actor: Actor, connector: ConnectorRow, returnPath: string | undefined): Promise<FlowRequest> {
    beforeSideEffect();
    const server = await discover(this.outgoing, connector);
    const userId = connector.per_user ? actor.id : null;
    const before = await this.credentials.find({ connectorId: connector.id, userId });
    const { client, secret } = await this.registration.at(server, connector, before);
    const { issuer, resource, scopes = [] } = server;
    const context: Context = {
      client,
      issuer,
      resource,
      scopes,
      ...(secret !== undefined && { client_secret: secret }),
    };
    return {
      kind: this.kind,
      subject_id: connector.id,
      organization_id: connector.organization_id,
      provider: connector.name,
      endpoint: server.authorizationEndpoint,
      params: requestParams(server, client),
      issuer,
      namesIssuer: server.namesIssuer,
      returnPath,
      context: { ...context },
    };
  }

  async exchange(person: Actor, flow: ReturnedFlow): Promise<Grant> {
    await this.require(person, flow.subject_id);
    const { client, client_secret, resource, scopes } = flow.context as unknown as Context;
    const { code, verifier: code_verifier, redirectUri: redirect_uri } = flow;
    const params = { grant_type: 'authorization_code', code, code_verifier, redirect_uri, resource };
    try {
      const given = await requestTokens(this.outgoing, {
        url: client.token_endpoint,
        client: { id: client.id, secret: client_secret, auth: client.auth },
        params,
      });
      const values = client_secret === undefined ? undefined : { [CLIENT_SECRET]: client_secret };
      return { tokens: { ...given, scopes: given.scopes ?? scopes, values } };
    } catch (error) {
      if (!isProviderProblem(error)) throw error;
      throw new Conflict(`${flow.provider} gave no access: ${error.message}. Start again.`);
    }
  }

  async keep(unit: UnitOfWork, person: Actor, flow: FlowRequest, { tokens }: Grant): Promise<FlowOutcome> {
    const connector = await this.require(person, flow.subject_id, unit);
    const { id, organization_id, name, per_user } = connector;
    const { client, issuer, resource } = flow.context as unknown as Context;
    const scope = { client, issuer, resource };
    await this.keeper.keep(unit, connector, per_user ? person.id : null, tokens, scope);
    const details = { issuer, scopes: tokens.scopes, registered: client.by };
    const target = { type: 'connector', id, organization_id };
    await this.audit.record(unit, person, 'connector.authorize', target, details);
    return {
      title: `${name} is connected`,
      text: 'Its tools are being looked up. Agents have those that a person approves.',
    };
  }

  private async require(person: Actor, id: string, within?: UnitOfWork): Promise<ConnectorRow> {
    const connector = await this.connectors.find(id, within);
    if (!connector) throw new Conflict('The connector was deleted meanwhile');
    return this.connectors.require(person, permissionToAuthorize(connector), id, within);
  }
}

function requestParams(
  { scopes, resource }: AuthorizationServer,
  { id }: StoredClient,
): Record<string, string> {
  const asked = scopes?.join(' ') ?? '';
  return { client_id: id, resource, ...(asked !== '' && { scope: asked }) };
}
