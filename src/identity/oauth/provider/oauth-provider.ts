import { timingSafeEqual } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { Injectable } from '@nestjs/common';
import { Provider } from 'oidc-provider';
import { GuardedFetch } from '#libs/guarded-fetch/index.js';
import { hashSecret } from '../../../platform/access/index.js';
import { Config } from '../../../platform/config/index.js';
import { Log } from '../../../platform/log/index.js';
import { Vault } from '../../../platform/vault/index.js';
import { SignIns } from '../../page-sessions/index.js';
import { OAuthAdapters } from '../adapters/adapters.js';
import { DevicePollsStore } from '../artifacts/device-polls.store.js';
import { isServiceAccountClient, ServiceAccountClients } from '../clients/service-account-clients.js';
import type { KeyRing } from '../keys/key-ring.js';
import { SigningKeys } from '../keys/signing-keys.js';
import { OAuthResources } from '../scopes/resources.js';
import { ADVERTISED_SCOPES } from '../scopes/scopes.js';
import { keepPace } from './device-pace.js';
import { DocumentQuota } from './document-quota.js';
import { configurationOf } from './provider-configuration.js';

const DISCOVERY = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'];

/** The authorization server: oidc-provider, set up with the keys of now. It holds no state, so a new one costs nothing. */
@Injectable()
export class OAuthProvider {
  private built: { ring: KeyRing; cookieKeys: string; provider: Provider } | undefined;

  constructor(
    private readonly config: Config,
    private readonly resources: OAuthResources,
    private readonly keys: SigningKeys,
    private readonly vault: Vault,
    private readonly adapters: OAuthAdapters,
    private readonly devicePolls: DevicePollsStore,
    private readonly serviceAccounts: ServiceAccountClients,
    private readonly signIns: SignIns,
    private readonly documents: DocumentQuota,
    private readonly outgoing: GuardedFetch,
    private readonly log: Log,
  ) {}

  async current(): Promise<Provider> {
    const ring = await this.keys.current();
    const keys = this.vault
      .seal('oauth cookies')
      .keys()
      .map(key => key.toString('base64url'));
    const cookieKeys = keys.join();
    if (this.built?.ring !== ring || this.built.cookieKeys !== cookieKeys)
      this.built = { ring, cookieKeys, provider: this.build(ring, keys) };
    return this.built.provider;
  }

  private build(ring: KeyRing, cookieKeys: string[]): Provider {
    const provider = new Provider(
      this.resources.issuer,
      configurationOf({
        resources: this.resources,
        keys: ring,
        adapter: this.adapters.of,
        fetch: (url, options) => this.outgoing.fetch(String(url), options as RequestInit),
        cookieKeys,
        sessionSeconds: this.config.refreshTokenSeconds,
        admitDocument: () => this.documents.admit(),
        isSignedIn: (accountId, signIn) => this.signIns.isOpen(accountId, signIn),
        accountExists: accountId => this.signIns.accountExists(accountId),
        keyOfRequest: request => this.serviceAccounts.keyOf(request),
      }),
    );
    // Each request comes with the scheme of the public address, see `handOver`.
    provider.proxy = true;
    this.compareSecrets(provider);
    answerAsWeDo(provider);
    keepPace(provider, this.devicePolls);
    const report = (err: unknown) => this.log.error({ err }, 'the authorization server failed to answer');
    provider.on('server_error', (_ctx, error) => report(error));
    // Koa's own, of which the types know nothing.
    (provider as EventEmitter).on('error', report);
    return provider;
  }

  /** Only hashes of secrets are kept, and a service account has as many secrets as keys. */
  private compareSecrets(provider: Provider): void {
    const { serviceAccounts } = this;
    provider.Client.prototype.compareClientSecret = async function (actual: string) {
      const { clientId, clientSecret = '' } = this;
      if (isServiceAccountClient(clientId))
        return serviceAccounts.authenticate(Provider.ctx ?? {}, clientId, actual);
      const [kept, sent] = [Buffer.from(clientSecret), Buffer.from(hashSecret(actual))];
      return kept.length === sent.length && timingSafeEqual(kept, sent);
    };
  }
}

/** Discovery names the scopes that clients are to ask for; what is no endpoint is told as everywhere else. */
function answerAsWeDo(provider: Provider): void {
  provider.use(async (ctx, next) => {
    await next();
    if (ctx.status === 404 && !ctx.body) {
      ctx.body = { detail: 'No such endpoint' };
      ctx.status = 404;
    }
    const body = ctx.body as { scopes_supported?: string[] } | undefined;
    if (DISCOVERY.includes(ctx.path) && body?.scopes_supported)
      body.scopes_supported = [...ADVERTISED_SCOPES, ...body.scopes_supported];
  });
}
