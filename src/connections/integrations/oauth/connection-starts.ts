import { Injectable } from '@nestjs/common';
import type { Actor } from '../../../platform/access/index.js';
import { beforeSideEffect, type UnitOfWork } from '../../../platform/database/index.js';
import { Conflict, Invalid } from '../../../platform/errors/index.js';
import {
  asProblem,
  hold,
  OAuthFlows,
  type StartedFlow,
  type TokenSet,
  Tokens,
} from '../../stored-credentials/index.js';
import type { ProviderDefinition } from '../providers/definition.js';
import { requireHeader } from '../providers/provider.js';
import { readTyped, type TypedFields } from '../providers/typed-fields.js';
import { type ConnectionRow, ConnectionsStore } from '../records/connections.store.js';
import { ConnectionRemoval } from './connection-removal.js';
import { ConnectionStates, INTEGRATION } from './connection-states.js';
import { baseUrlOf, credentialHeader } from './credential.js';
import { type Checked, ProviderCalls } from './provider-calls.js';
import { ProviderCatalog } from './provider-catalog.js';

interface Wanted {
  readonly scopes?: readonly string[];
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly return_path?: string;
}

interface PreparedStart {
  /** Name of the provider. */
  readonly name: string;
  readonly settings: Readonly<Record<string, string>>;
  /** Null where it is active at once. */
  start(unit: UnitOfWork, actor: Actor, row: ConnectionRow): Promise<StartedFlow | null>;
}

/** Begins connections: by a person who authorizes, or with what was typed, which the provider is asked about. */
@Injectable()
export class ConnectionStarts {
  constructor(
    private readonly connections: ConnectionsStore,
    private readonly catalog: ProviderCatalog,
    private readonly calls: ProviderCalls,
    private readonly flows: OAuthFlows,
    private readonly tokens: Tokens,
    private readonly states: ConnectionStates,
    private readonly removal: ConnectionRemoval,
  ) {}

  async prepare(organizationId: string, provider: string, wanted: Wanted): Promise<PreparedStart> {
    const definition = await this.catalog.require(organizationId, provider);
    return definition.auth === 'oauth2'
      ? this.byPerson(organizationId, definition, wanted)
      : this.byTyping(definition, wanted);
  }

  /** Checks new typed values. The function that it returns stores them in the transaction of the caller. */
  async retype(
    row: ConnectionRow,
    given: Readonly<Record<string, unknown>>,
  ): Promise<(unit: UnitOfWork) => Promise<void>> {
    const definition = await this.catalog.require(row.organization_id, row.provider);
    if (definition.auth === 'oauth2' || row.token_set_id === null)
      throw new Conflict(`${definition.name} takes nothing typed; authorize it again`);
    const id = row.token_set_id;
    const kept = await this.tokens.opened(id);
    const before = { secrets: kept?.values ?? {}, settings: row.settings };
    const typed = readTyped(definition, given, before);
    // A key is sent where it was typed for: another address takes another key.
    const isElsewhere = typed.settings.base_url !== row.settings.base_url;
    const secrets = Object.keys(typed.secrets).filter(name => !(name in given));
    if (isElsewhere && secrets.length > 0)
      throw new Invalid(`fields.${secrets[0]} must be given again, as base_url is another`);
    const { tokens, checked } = await this.checkedTokens(definition, typed);
    return async unit => {
      await this.tokens.replace(unit, id, tokens);
      await this.removal.removeLimited(unit, row);
      await this.connections.settle(unit, row.id, typed.settings, checked.account);
      await this.states.set(unit, row.id, 'active');
    };
  }

  async test(row: ConnectionRow) {
    const definition = await this.catalog.require(row.organization_id, row.provider);
    if (row.token_set_id === null) throw new Conflict('It is not connected yet; authorize it first');
    const begun = performance.now();
    const { isAccepted, status, account } = await asProblem(
      this.tokens.use(
        row.token_set_id,
        token => this.calls.check(definition, row.settings, token),
        checked => !checked.isAccepted,
      ),
    );
    const latency_ms = Math.round(performance.now() - begun);
    return { accepted: isAccepted, status, account, scopes: [...row.scopes], latency_ms };
  }

  private async byPerson(
    organizationId: string,
    definition: ProviderDefinition,
    { scopes: asked, fields, return_path: returnPath }: Wanted,
  ): Promise<PreparedStart> {
    const { id, name, authorize_url = '', issuer, authorize_params, scope_separator = ' ' } = definition;
    if (fields && Object.keys(fields).length > 0)
      throw new Invalid(`fields must be left out: people authorize at ${name}`);
    const scopes = chooseScopes(definition, asked);
    const client = await this.catalog.client(organizationId, definition);
    if (!client)
      throw new Conflict(
        `There is no client for ${name}: register one there (${definition.docs}) with the redirect address ` +
          `${this.flows.redirectUri(INTEGRATION)}, then PUT /api/integrations/providers/${id}/client`,
      );
    const params = {
      ...authorize_params,
      client_id: client.id,
      ...(scopes.length > 0 && { scope: scopes.join(scope_separator) }),
    };
    const start = (unit: UnitOfWork, actor: Actor, row: ConnectionRow) =>
      this.flows.begin(unit, actor, {
        kind: INTEGRATION,
        subject_id: row.id,
        organization_id: organizationId,
        provider: name,
        endpoint: authorize_url,
        params,
        issuer,
        returnPath,
        context: { scopes },
      });
    return { name, settings: {}, start };
  }

  private async byTyping(
    definition: ProviderDefinition,
    { scopes, fields = {} }: Wanted,
  ): Promise<PreparedStart> {
    if (scopes && scopes.length > 0)
      throw new Invalid(`scopes must be left out: ${definition.name} has none`);
    const typed = readTyped(definition, fields);
    const { tokens, checked } = await this.checkedTokens(definition, typed);
    const start = async (unit: UnitOfWork, _actor: Actor, { id, organization_id }: ConnectionRow) => {
      const token_set_id = await this.tokens.add(unit, { kind: INTEGRATION, organization_id }, tokens);
      const { account } = checked;
      await this.connections.change(unit, id, { token_set_id, ...(account && { account }) });
      await this.states.set(unit, id, 'active');
      return null;
    };
    return { name: definition.name, settings: typed.settings, start };
  }

  private async checkedTokens(
    definition: ProviderDefinition,
    { settings, secrets }: TypedFields,
  ): Promise<{ tokens: TokenSet; checked: Checked }> {
    const base = URL.parse(baseUrlText(definition, settings));
    if (!base || base.search || base.hash)
      throw new Invalid('fields.base_url must be an address such as https://api.example.com/v1');
    this.catalog.requireReachable(base, 'fields.base_url');
    if (settings.header !== undefined) requireHeader(settings.header, 'fields.header');
    const values = { ...secrets };
    const typed: TokenSet = { accessToken: '', values, scopes: [] };
    if (definition.auth !== 'github_app') {
      const { value } = credentialHeader(definition, settings, hold(typed, 0));
      if (!/^[\x20-\x7e\x80-\xff]{1,8192}$/.test(value.reveal()))
        throw new Invalid('fields must not have line breaks or characters that no header can hold');
    }
    beforeSideEffect();
    const tokens =
      definition.auth === 'github_app'
        ? {
            ...(await asProblem(
              this.calls.installationToken(definition, settings, values.private_key ?? ''),
            )),
            values,
            scopes: [],
          }
        : typed;
    const checked = await asProblem(this.calls.check(definition, settings, hold(tokens, 0)));
    if (!checked.isAccepted)
      throw new Conflict(`${definition.name} did not accept what was typed: it answered ${checked.status}`);
    return { tokens, checked };
  }
}

function baseUrlText(definition: ProviderDefinition, settings: Readonly<Record<string, string>>): string {
  try {
    return baseUrlOf(definition, settings).href;
  } catch {
    return '';
  }
}

function chooseScopes(
  { name, scopes_default = [], scopes_available = [] }: ProviderDefinition,
  asked: readonly string[] | undefined,
): string[] {
  const scopes = [...new Set(asked ?? scopes_default)];
  const bad = scopes.find(scope => !/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope));
  if (bad !== undefined) throw new Invalid('scopes must be words without spaces and quotes');
  const isKnown = (scope: string) => scopes_available.includes(scope) || scopes_default.includes(scope);
  const unknown = scopes_available.length > 0 && asked ? scopes.find(scope => !isKnown(scope)) : undefined;
  if (unknown !== undefined) throw new Invalid(`scopes: ${name} has no scope ${unknown}`);
  return scopes;
}
