import { registerClient } from '@modelcontextprotocol/client';
import { Injectable } from '@nestjs/common';
import { GuardedFetch } from '#libs/guarded-fetch/index.js';
import { plainLine } from '#libs/plain-text/index.js';
import { Config } from '../../../platform/config/index.js';
import type { UnitOfWork } from '../../../platform/database/index.js';
import { Conflict } from '../../../platform/errors/index.js';
import { Vault } from '../../../platform/vault/index.js';
import { Tokens } from '../../stored-credentials/index.js';
import type { ConnectorRow, CredentialRow, StoredClient } from '../records/connector-rows.js';
import { type AuthorizationServer, guarded } from './authorization-server.js';
import { CALLBACK, clientDocumentUrl, clientMetadata } from './client-document.js';

/** Who we are to an authorization server, with the secret that it gave. */
export interface OurClient {
  readonly client: StoredClient;
  readonly secret: string | undefined;
}

export const CLIENT_SECRET = 'client_secret';
const SECRET_PLACE = 'connector_client';

/** Becomes a client of authorization servers: by what a person typed, by our metadata document, or by registration. */
@Injectable()
export class ClientRegistration {
  constructor(
    private readonly config: Config,
    private readonly outgoing: GuardedFetch,
    private readonly vault: Vault,
    private readonly tokens: Tokens,
  ) {}

  /** `before`: the credential that is to be authorized again. Throws Conflict where there is no way. */
  async at(
    server: AuthorizationServer,
    connector: ConnectorRow,
    before: CredentialRow | undefined,
  ): Promise<OurClient> {
    const document = server.takesDocuments ? clientDocumentUrl(this.config.baseUrl) : undefined;
    if (connector.client_id !== null) return this.typed(server, connector, connector.client_id);
    if (document !== undefined)
      return { client: toClient(server, document, undefined, 'cimd'), secret: undefined };
    if (before?.client?.by === 'dcr' && before.issuer === server.issuer) {
      const opened = await this.tokens.opened(before.token_set_id);
      return { client: before.client, secret: opened?.values?.[CLIENT_SECRET] };
    }
    if (server.registrationEndpoint !== undefined) return this.register(server);
    const redirect = new URL(CALLBACK, this.config.baseUrl).href;
    throw new Conflict(
      `${new URL(server.issuer).host} registers no clients by itself: register one there with the redirect address ${redirect}, and enter its id as client`,
    );
  }

  /** Keeps the client that a person registered by hand; none where there is no such client. */
  async keepTyped(
    unit: UnitOfWork,
    organization_id: string,
    client: { id: string; secret?: string } | null | undefined,
  ): Promise<Pick<ConnectorRow, 'client_id' | 'client_secret_id'>> {
    const place = { place: SECRET_PLACE, organization_id };
    const secret = client?.secret;
    const client_secret_id = secret === undefined ? null : await this.vault.put(unit, place, secret);
    return { client_id: client?.id ?? null, client_secret_id };
  }

  async removeTyped(unit: UnitOfWork, { client_secret_id }: Pick<ConnectorRow, 'client_secret_id'>) {
    if (client_secret_id !== null) await this.vault.remove(unit, [client_secret_id]);
  }

  private async typed(server: AuthorizationServer, connector: ConnectorRow, id: string): Promise<OurClient> {
    const { client_secret_id, organization_id } = connector;
    const owner = client_secret_id !== null && { place: SECRET_PLACE, id: client_secret_id, organization_id };
    const opened = owner ? await this.vault.open(owner) : undefined;
    const secret = opened?.secret.reveal();
    return { client: toClient(server, id, secret, 'typed'), secret };
  }

  private async register(server: AuthorizationServer): Promise<OurClient> {
    try {
      const given = await registerClient(server.issuer, {
        metadata: server.metadata,
        clientMetadata: clientMetadata(this.config.baseUrl),
        fetchFn: guarded(this.outgoing),
      });
      const secret = given.client_secret;
      return { client: toClient(server, given.client_id, secret, 'dcr'), secret };
    } catch (error) {
      const why = error instanceof Error ? plainLine(error.message).slice(0, 300) : 'no answer';
      throw new Conflict(`The authorization server did not register this service as a client: ${why}`);
    }
  }
}

function toClient(
  { authMethods, tokenEndpoint: token_endpoint }: AuthorizationServer,
  id: string,
  secret: string | undefined,
  by: StoredClient['by'],
): StoredClient {
  // What is not said is client_secret_basic (RFC 8414).
  const takesBasic = !authMethods || authMethods.includes('client_secret_basic');
  const auth = secret === undefined ? 'none' : takesBasic ? 'basic' : 'post';
  return { id, auth, token_endpoint, by };
}
