import { Injectable, OnModuleInit } from '@nestjs/common';
import { shortName } from '#libs/plain-text/index.js';
import type { Actor } from '../../../platform/access/index.js';
import { Audit } from '../../../platform/audit/index.js';
import type { UnitOfWork } from '../../../platform/database/index.js';
import { Conflict } from '../../../platform/errors/index.js';
import {
  asProblem,
  type FlowHandler,
  type FlowOutcome,
  type FlowRequest,
  type Grant,
  hold,
  OAuthFlows,
  type ReturnedFlow,
  Tokens,
} from '../../stored-credentials/index.js';
import { type Account, type ConnectionRow, ConnectionsStore } from '../records/connections.store.js';
import { ConnectionStates, INTEGRATION } from './connection-states.js';
import { ProviderCalls } from './provider-calls.js';
import { ProviderCatalog } from './provider-catalog.js';

/** Ends the authorization of a connection, whose id stays the same each time. */
@Injectable()
export class ConnectionFlow implements FlowHandler, OnModuleInit {
  readonly kind = INTEGRATION;
  readonly redirectPath = '/api/integrations/callback';

  constructor(
    private readonly flows: OAuthFlows,
    private readonly connections: ConnectionsStore,
    private readonly catalog: ProviderCatalog,
    private readonly calls: ProviderCalls,
    private readonly tokens: Tokens,
    private readonly states: ConnectionStates,
    private readonly audit: Audit,
  ) {}

  onModuleInit(): void {
    this.flows.register(this);
  }

  async exchange(person: Actor, flow: ReturnedFlow): Promise<Grant> {
    const connection = await this.connections.require(person, 'connection.manage', flow.subject_id);
    const { account: before } = connection;
    const grant = await asProblem(this.authorized(connection, flow));
    const { account } = grant;
    if (!before || !account || before.id === account.id) return grant;
    return {
      ...grant,
      question: {
        title: `${flow.provider}: another account`,
        text: `This connection was ${quoted(before)}, and you authorized ${quoted(account)}. What uses it would act as the new one.`,
        yes: `Use ${quoted(account)}`,
      },
    };
  }

  async keep(
    unit: UnitOfWork,
    person: Actor,
    { subject_id: id, provider }: FlowRequest,
    { tokens, account }: Grant,
  ): Promise<FlowOutcome> {
    const before = await this.connections.require(person, 'connection.manage', id, unit);
    const { organization_id } = before;
    const owner = { kind: INTEGRATION, organization_id };
    const kept = await this.tokens.keep(unit, before.token_set_id, owner, tokens);
    const { token_set_id } = await this.connections.lock(unit, id);
    if (token_set_id !== before.token_set_id)
      throw new Conflict('It was authorized a moment ago; look at it again');
    const known = account ?? before.account;
    await this.connections.change(unit, id, {
      token_set_id: kept,
      scopes: [...tokens.scopes],
      ...(known && { account: known }),
    });
    await this.states.set(unit, id, 'active');
    const target = { type: 'connection', id, organization_id };
    const details = { provider: before.provider, account: known?.label, scopes: tokens.scopes };
    await this.audit.record(unit, person, 'connection.authorize', target, details);
    return {
      title: `${provider} is connected`,
      text: known ? `The account is ${quoted(known)}.` : 'It does not say which account it is.',
    };
  }

  private async authorized(connection: ConnectionRow, flow: ReturnedFlow): Promise<Grant> {
    const { organization_id, provider, settings } = connection;
    const definition = await this.catalog.require(organization_id, provider);
    const client = await this.catalog.client(organization_id, definition);
    if (!client) throw new Conflict(`There is no client for ${definition.name} any more`);
    const given = await this.calls.exchange(definition, client, flow);
    const asked = (flow.context?.scopes ?? []) as string[];
    // What is left out of the answer is what was asked for (RFC 6749, 5.1).
    const tokens = { ...given, scopes: given.scopes ?? asked };
    const { isAccepted, account } = await this.calls.check(definition, settings, hold(tokens, 0));
    if (!isAccepted) throw new Conflict(`${definition.name} does not accept the token that it gave out`);
    return { tokens, account };
  }
}

const quoted = ({ label }: Account): string => `“${shortName(label)}”`;
