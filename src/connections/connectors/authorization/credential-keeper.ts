import { Injectable } from '@nestjs/common';
import { newId, type UnitOfWork } from '../../../platform/database/index.js';
import { Invalid } from '../../../platform/errors/index.js';
import { Jobs } from '../../../platform/jobs/index.js';
import { type TokenSet, Tokens } from '../../stored-credentials/index.js';
import { type ConnectorRow } from '../records/connector-rows.js';
import { ConnectorsStore } from '../records/connectors.store.js';
import { type CredentialScope, CredentialsStore } from '../records/credentials.store.js';
import { connectorCheck } from './connectors.processor.js';
import { KIND } from './token-refresher.js';

const MAX_HEADERS = 20;
const NAME = /^[a-z0-9-]{1,64}$/;
const VALUE = /^[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?$/;
/** Headers that are the protocol's, or that say how a request is sent. */
const RESERVED =
  /^(?:mcp-.*|host|content-.*|accept.*|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|last-event-id|proxy-.*|origin|cookie)$/;

/** Permission to authorize a connector: a credential of one's own takes only membership. */
export const permissionToAuthorize = ({ per_user }: Pick<ConnectorRow, 'per_user'>) =>
  per_user ? ('connection.manage' as const) : ('provider.configure' as const);

/** Keeps credentials: those of a connector stay under one id, however often they are given anew. */
@Injectable()
export class CredentialKeeper {
  constructor(
    private readonly connectors: ConnectorsStore,
    private readonly credentials: CredentialsStore,
    private readonly tokens: Tokens,
    private readonly jobs: Jobs,
  ) {}

  async keep(
    unit: UnitOfWork,
    { id: connectorId, organization_id }: Pick<ConnectorRow, 'id' | 'organization_id'>,
    userId: string | null,
    tokens: TokenSet,
    scope: CredentialScope = { issuer: null, resource: null, client: null },
  ): Promise<void> {
    // Two who authorize at once take turns.
    await this.connectors.lock(unit, connectorId);
    const whose = { connectorId, userId };
    const known = await this.credentials.find(whose, unit);
    const owner = { kind: KIND, organization_id };
    const id = await this.tokens.keep(unit, known?.token_set_id ?? null, owner, tokens);
    await this.credentials.keep(unit, whose, id, scope);
    await this.connectors.publish(unit, connectorId);
    await this.lookUp(unit, connectorId, userId);
  }

  /** Removes the credentials of a connector with their tokens: those of one person, or all. */
  async remove(unit: UnitOfWork, connectorId: string, userId?: string | null): Promise<void> {
    await this.tokens.remove(unit, await this.credentials.remove(unit, connectorId, userId));
  }

  async removePersonal(unit: UnitOfWork, organizationId: string, userId: string): Promise<void> {
    await this.tokens.remove(unit, await this.credentials.removePersonal(unit, organizationId, userId));
  }

  /** Enqueues a look-up of the server and its tools. */
  lookUp(unit: UnitOfWork, connector_id: string, userId: string | null): Promise<void> {
    return this.jobs.enqueue(unit, connectorCheck, newId(), { connector_id, user_id: userId ?? '' });
  }
}

/** What a person typed, as tokens. Throws Invalid for what cannot be a credential of this kind. */
export function typedCredential(
  { auth }: Pick<ConnectorRow, 'auth'>,
  { token, headers }: { token?: string; headers?: Record<string, unknown> },
): TokenSet | undefined {
  if (token !== undefined && auth !== 'bearer') throw new Invalid('token is for connectors with auth bearer');
  if (headers !== undefined && auth !== 'headers')
    throw new Invalid('headers is for connectors with auth headers');
  if (auth === 'bearer' && token !== undefined) {
    if (!VALUE.test(token)) throw new Invalid('token must have visible characters only');
    return { accessToken: token, scopes: [] };
  }
  if (auth !== 'headers' || headers === undefined) return undefined;
  const entries = Object.entries(headers);
  if (entries.length === 0 || entries.length > MAX_HEADERS)
    throw new Invalid(`headers must have 1 to ${MAX_HEADERS} headers`);
  const values = entries.map(([given, value]) => {
    const name = given.toLowerCase();
    if (!NAME.test(name)) throw new Invalid(`headers.${given.slice(0, 64)} is no name of a header`);
    if (RESERVED.test(name)) throw new Invalid(`headers.${name} cannot be set here`);
    if (typeof value !== 'string' || !VALUE.test(value))
      throw new Invalid(`headers.${name} must have 1 to 4096 visible characters`);
    return [name, value];
  });
  return { accessToken: '', values: Object.fromEntries(values), scopes: [] };
}
