import { Injectable, OnModuleInit } from '@nestjs/common';
import { shortName } from '#libs/plain-text/index.js';
import type { Actor } from '../../../platform/access/index.js';
import { Audit } from '../../../platform/audit/index.js';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import { Conflict } from '../../../platform/errors/index.js';
import {
  type FlowHandler,
  type FlowOutcome,
  type FlowRequest,
  OAuthFlows,
  type ReturnedFlow,
} from '../../flows/index.js';
import { hold, type TokenSet, Tokens } from '../../tokens/index.js';
import { type Account, type ConnectionRow, ConnectionsStore } from '../records/connections.store.js';
import { ConnectionStates, INTEGRATION } from './connection-states.js';
import { ProviderCalls } from './provider-calls.js';
import { ProviderCatalog } from './provider-catalog.js';
import { asProblem } from './provider-problems.js';

/** What a person authorized, until it is kept. */
interface Authorized {
  readonly tokens: TokenSet;
  readonly account: Account | null;
}

/** Finishes the authorization of a connection. Its id stays the same each time. */
@Injectable()
export class ConnectionFlow implements FlowHandler, OnModuleInit {
  readonly kind = INTEGRATION;
  readonly redirectPath = '/api/integrations/callback';

  constructor(
    private readonly database: Database,
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

  async finish(person: Actor, flow: ReturnedFlow): Promise<FlowOutcome> {
    const connection = await this.connections.require(person, 'connection.manage', flow.subject_id);
    const authorized = await asProblem(this.authorized(connection, flow));
    const { account } = authorized;
    if (connection.account && account && connection.account.id !== account.id)
      return {
        title: `${flow.provider}: another account`,
        text: `This connection was ${nameOf(connection.account)}, and you authorized ${nameOf(account)}. What uses it would act as the new one.`,
        question: { yes: `Use ${nameOf(account)}`, held: JSON.stringify(authorized) },
      };
    return this.database.transaction(unit => this.keep(unit, person, flow, authorized));
  }

  async confirm(unit: UnitOfWork, person: Actor, flow: FlowRequest, held: string): Promise<FlowOutcome> {
    await this.connections.require(person, 'connection.manage', flow.subject_id, unit);
    return this.keep(unit, person, flow, JSON.parse(held) as Authorized);
  }

  private async authorized(connection: ConnectionRow, flow: ReturnedFlow): Promise<Authorized> {
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

  private async keep(
    unit: UnitOfWork,
    person: Actor,
    { subject_id: id, provider }: FlowRequest,
    { tokens, account }: Authorized,
  ): Promise<FlowOutcome> {
    const before = await this.connections.find(id, unit);
    if (before?.token_set_id) await this.tokens.replace(unit, before.token_set_id, tokens);
    const { organization_id, token_set_id } = await this.connections.lock(unit, id);
    if (token_set_id !== (before?.token_set_id ?? null))
      throw new Conflict('It was authorized a moment ago; look at it again');
    const added =
      token_set_id ?? (await this.tokens.add(unit, { kind: INTEGRATION, organization_id }, tokens));
    const known = account ?? before?.account;
    await this.connections.change(unit, id, {
      token_set_id: added,
      scopes: [...tokens.scopes],
      ...(known && { account: known }),
    });
    await this.states.set(unit, id, 'active');
    const target = { type: 'connection', id, organization_id };
    const details = { provider: before?.provider, account: known?.label, scopes: tokens.scopes };
    await this.audit.record(unit, person, 'connection.authorize', target, details);
    return {
      title: `${provider} is connected`,
      text: known ? `The account is ${nameOf(known)}.` : 'It does not say which account it is.',
    };
  }
}

const nameOf = ({ label }: Account): string => `“${shortName(label)}”`;
