import { Injectable, OnModuleInit } from '@nestjs/common';
import { GuardedFetch } from '#libs/guarded-fetch/index.js';
import { Database } from '../../../platform/database/index.js';
import { problemOf } from '../../../platform/errors/index.js';
import { Secret } from '../../../platform/vault/index.js';
import {
  ClientRejected,
  GrantRejected,
  ProviderFault,
  type RefreshedTokens,
  type Refresher,
  requestTokens,
  type TokenSet,
  Tokens,
} from '../../stored-credentials/index.js';
import { toCredential } from '../calls/credential-use.js';
import { toFault } from '../client/connector-fault.js';
import { RemoteServer } from '../client/remote-server.js';
import { ConnectorsStore } from '../records/connectors.store.js';
import { type CredentialOfConnector, CredentialsStore } from '../records/credentials.store.js';
import { discover } from './authorization-server.js';
import { CLIENT_SECRET } from './client-registration.js';

export const KIND = 'connector';

/** Renews the tokens of connectors, at the server that gave them and no other. */
@Injectable()
export class TokenRefresher implements Refresher, OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly outgoing: GuardedFetch,
    private readonly connectors: ConnectorsStore,
    private readonly credentials: CredentialsStore,
    private readonly tokens: Tokens,
  ) {}

  onModuleInit(): void {
    this.tokens.register(KIND, this);
  }

  async refresh(id: string, current: TokenSet, signal: AbortSignal): Promise<RefreshedTokens> {
    const credential = await this.require(id);
    const { client, resource } = credential;
    if (!client || current.refreshToken === undefined)
      throw new GrantRejected('The access has ended, and cannot be renewed');
    await this.requireSameIssuer(credential);
    return requestTokens(this.outgoing, {
      url: client.token_endpoint,
      client: { id: client.id, secret: current.values?.[CLIENT_SECRET], auth: client.auth },
      params: {
        grant_type: 'refresh_token',
        refresh_token: current.refreshToken,
        ...(resource !== null && { resource }),
      },
      signal,
    });
  }

  /** Asks the server itself, which has just refused one request. */
  async accepts(id: string, current: TokenSet, signal: AbortSignal): Promise<boolean> {
    const { connector } = await this.require(id);
    const values = Object.entries(current.values ?? {}).map(([name, value]) => [name, new Secret(value)]);
    const held = { accessToken: new Secret(current.accessToken), values: Object.fromEntries(values) };
    const credential = toCredential(connector.auth, { ...held, scopes: [], revision: 0 });
    try {
      const server = await RemoteServer.connect(this.outgoing, connector.url, { credential, signal });
      await server.close();
      return true;
    } catch (error) {
      const fault = toFault(error);
      if (fault.kind === 'unauthorized') return false;
      throw new ProviderFault(fault.message);
    }
  }

  private async require(id: string): Promise<CredentialOfConnector> {
    const credential = await this.credentials.findByTokens(id);
    if (!credential) throw new ProviderFault('The connector is gone');
    return credential;
  }

  /** A person reviews the credential first if the server names another authorization server. */
  private async requireSameIssuer({ id, issuer, connector }: CredentialOfConnector): Promise<void> {
    const now = await this.issuerNow(connector);
    if (now === undefined || now === issuer) return;
    const reason = `its server is authorized by ${now} now, and no more by ${issuer}; look at it, and authorize it again`;
    await this.database.transaction(async unit => {
      if (await this.credentials.review(unit, id, reason)) await this.connectors.publish(unit, connector.id);
    });
    throw new ClientRejected('The server is authorized by another authorization server now');
  }

  /** Undefined where it cannot be found out at the moment. */
  private async issuerNow(connector: CredentialOfConnector['connector']): Promise<string | undefined> {
    try {
      return (await discover(this.outgoing, connector)).issuer;
    } catch (error) {
      if (problemOf(error)) return undefined;
      throw error;
    }
  }
}
