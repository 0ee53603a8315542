import { timingSafeEqual } from 'node:crypto';
import { type EventEmitter } from 'node:events';
import { Injectable } from '@nestjs/common';
import { type KoaContextWithOIDC, Provider } from 'oidc-provider';
import { hashSecret } from '../../../platform/access/index.js';
import { Log } from '../../../platform/log/index.js';
import { Vault } from '../../../platform/vault/index.js';
import { type KeyRing, SigningKeys } from '../keys/signing-keys.js';
import { OAUTH_ROUTES } from '../pages/pages.js';
import { OAuthResources } from '../scopes/oauth-resources.js';
import { ADVERTISED_SCOPES } from '../scopes/scopes.js';
import { ArtifactsStore, POLL_SECONDS } from '../storage/artifacts.store.js';
import { isServiceAccountClient, ServiceAccountClients } from '../storage/clients.store.js';
import { ProviderConfiguration } from './provider-configuration.js';

const SLOW_DOWN = {
  error: 'slow_down',
  error_description: 'the device polls too often: add 5 seconds to its interval',
};

/**
 * Tells devices how often to poll, and those that poll more often while they wait for their person to slow down
 * (RFC 8628 section 3.5). Nothing else comes of it: a device whose person has decided is answered however soon it asks.
 */
function keepPace(provider: Provider, artifacts: ArtifactsStore): void {
  provider.use(async (ctx, next) => {
    await next();
    const body = ctx.body as { error?: string; device_code?: string } | undefined;
    if (ctx.path === OAUTH_ROUTES.device_authorization && body?.device_code)
      ctx.body = { ...body, interval: POLL_SECONDS };
    if (ctx.path !== OAUTH_ROUTES.token || body?.error !== 'authorization_pending') return;
    const { params } = (ctx as KoaContextWithOIDC).oidc;
    if (!(await artifacts.pollDevice(String(params?.device_code)))) ctx.body = SLOW_DOWN;
  });
}

const DISCOVERY = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'];

/** The authorization server: oidc-provider, set up with the keys of now. It holds no state, so a new one costs nothing. */
@Injectable()
export class OAuthProvider {
  private built: { ring: KeyRing; cookieKeys: string; provider: Provider } | undefined;

  constructor(
    private readonly resources: OAuthResources,
    private readonly configuration: ProviderConfiguration,
    private readonly keys: SigningKeys,
    private readonly vault: Vault,
    private readonly artifacts: ArtifactsStore,
    private readonly serviceAccounts: ServiceAccountClients,
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
    const provider = new Provider(this.resources.issuer, this.configuration.with(ring, cookieKeys));
    // Each request comes with the scheme of the public address, see `forward`.
    provider.proxy = true;
    this.compareSecrets(provider);
    answerAsWeDo(provider);
    keepPace(provider, this.artifacts);
    const report = (err: unknown) => this.log.error({ err }, 'the authorization server failed to answer');
    provider.on('server_error', (_ctx, error) => report(error));
    // Koa's own, of which the types know nothing.
    (provider as EventEmitter).on('error', report);
    return provider;
  }

  /**
   * Only hashes of secrets are kept, and a service account has as many secrets as keys. To replace this method is the provider's
   * public way to that (github.com/panva/node-oidc-provider/discussions/1410).
   */
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

/** Discovery names the scopes that clients are to ask for; what is no endpoint is answered as everywhere else. */
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
