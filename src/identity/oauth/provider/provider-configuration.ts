import { Injectable } from '@nestjs/common';
import {
  type Client,
  type Configuration,
  errors,
  type Grant,
  interactionPolicy,
  type KoaContextWithOIDC,
  type interactionPolicy as Policy,
} from 'oidc-provider';
import { randomSecret } from '../../../platform/access/index.js';
import { Config } from '../../../platform/config/index.js';
import { SignInsStore } from '../../page-sessions/index.js';
import { type KeyRing, SIGNING_ALGORITHM } from '../keys/signing-keys.js';
import {
  deviceCodePage,
  deviceConfirmPage,
  deviceDonePage,
  errorPage,
  INTERACTION_ROUTE,
  OAUTH_ROUTES,
  sendOnKoa,
} from '../pages/pages.js';
import { OAuthResources } from '../scopes/oauth-resources.js';
import { OFFERED_SCOPES } from '../scopes/scopes.js';
import { ServiceAccountClients } from '../storage/clients.store.js';
import { ACCESS_TOKEN_SECONDS } from '../tokens/token-handles.js';
import { OAuthAdapters } from './adapters.js';
import { ClientDocuments } from './client-documents.js';
import { CLIENT_DEFAULTS, CLIENT_RULES } from './client-rules.js';

type Features = NonNullable<Configuration['features']>;

/** Tells only the client that a token belongs to about it. */
const ownToken = (_ctx: unknown, client: Client, token: { clientId?: string }) =>
  token.clientId === client.clientId;

/** What the authorization server can do, and how. What is not named is off. */
function featuresOf(documents: ClientDocuments, resources: OAuthResources, keys: KeyRing): Features {
  return {
    devInteractions: { enabled: false },
    userinfo: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    clientCredentials: { enabled: true },
    dPoP: { enabled: true },
    pushedAuthorizationRequests: { enabled: true },
    introspection: { enabled: true, allowedPolicy: ownToken as never },
    revocation: { enabled: true, allowedPolicy: ownToken as never },
    registration: {
      enabled: true,
      issueRegistrationAccessToken: false,
      idFactory: () => `app_${randomSecret().slice(0, 22)}`,
      secretFactory: () => randomSecret(),
    },
    clientIdMetadataDocument: {
      enabled: true,
      ack: 'draft-02',
      allowFetch: () => documents.admit(),
    },
    deviceFlow: deviceFlow(),
    resourceIndicators: resourceIndicators(resources, keys),
  };
}

function deviceFlow(): Features['deviceFlow'] {
  return {
    enabled: true,
    userCodeInputSource: async (ctx, form, _out, error) => sendOnKoa(ctx, deviceCodePage(ctx, form, error)),
    userCodeConfirmSource: async (ctx, form, client, _device, code) =>
      sendOnKoa(ctx, deviceConfirmPage(form, client, code)),
    successSource: async ctx => sendOnKoa(ctx, deviceDonePage(ctx)),
  };
}

function resourceIndicators(resources: OAuthResources, keys: KeyRing): Features['resourceIndicators'] {
  return {
    enabled: true,
    // Clients that name none mean the MCP endpoint; of several, a token is for one.
    defaultResource: (_ctx: KoaContextWithOIDC, _client: Client, oneOf?: readonly string[]) =>
      oneOf?.length && !oneOf.includes(resources.mcp) ? String(oneOf[0]) : resources.mcp,
    useGrantedResource: () => true,
    getResourceServerInfo: (_ctx, resource) => {
      if (!resources.isKnown(resource)) throw new errors.InvalidTarget();
      return {
        audience: resource,
        scope: OFFERED_SCOPES.join(' '),
        accessTokenFormat: 'jwt',
        accessTokenTTL: ACCESS_TOKEN_SECONDS,
        jwt: { sign: { alg: SIGNING_ALGORITHM, kid: keys.signing().id } },
      };
    },
  };
}

const MINUTE = 60;
const YEAR = 365 * 86_400;

/** How oidc-provider is set up. */
@Injectable()
export class ProviderConfiguration {
  constructor(
    private readonly config: Config,
    private readonly resources: OAuthResources,
    private readonly adapters: OAuthAdapters,
    private readonly documents: ClientDocuments,
    private readonly signIns: SignInsStore,
    private readonly serviceAccounts: ServiceAccountClients,
  ) {}

  /** Of the keys for cookies the first signs, all of them verify. */
  with(keys: KeyRing, cookieKeys: string[]): Configuration {
    return {
      adapter: this.adapters.of,
      jwks: { keys: keys.privateJwks() as never },
      fetch: (url, options) => this.documents.fetch(String(url), options as RequestInit),
      fetchResponseBodyLimits: { jwks_uri: 64 * 1024, sector_identifier_uri: 64 * 1024 },
      routes: OAUTH_ROUTES,
      features: featuresOf(this.documents, this.resources, keys),
      clientDefaults: CLIENT_DEFAULTS,
      extraClientMetadata: CLIENT_RULES,
      clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
      responseTypes: ['code'],
      scopes: ['openid', 'offline_access'],
      pkce: { required: () => true },
      // Any page may ask: no cookie counts at these endpoints.
      clientBasedCORS: () => true,
      cookies: {
        names: cookieNames(this.resources.issuer.startsWith('https:')),
        keys: cookieKeys,
      },
      ...lives(this.config.refreshTokenSeconds),
      ...consent(this.signIns),
      ...tokens(this.serviceAccounts),
      findAccount: async (_ctx, accountId) =>
        (await this.signIns.accountExists(accountId))
          ? { accountId, claims: async () => ({ sub: accountId }) }
          : undefined,
      renderError: (ctx, out) => sendOnKoa(ctx, errorPage(out)),
    };
  }
}

/** By these prefixes (RFC 6265bis) browsers take them from this host alone, not from a site on a subdomain of it. */
function cookieNames(secure: boolean) {
  const [host, path] = secure ? ['__Host-', '__Secure-'] : ['', ''];
  return {
    session: `${host}oauth_session`,
    interaction: `${path}oauth_interaction`,
    resume: `${path}oauth_resume`,
  };
}

/** How long things last, in seconds. */
function lives(sessionSeconds: number): Pick<Configuration, 'ttl'> {
  return {
    ttl: {
      AccessToken: ACCESS_TOKEN_SECONDS,
      ClientCredentials: ACCESS_TOKEN_SECONDS,
      IdToken: ACCESS_TOKEN_SECONDS,
      AuthorizationCode: MINUTE,
      DeviceCode: 15 * MINUTE,
      Interaction: 30 * MINUTE,
      Session: sessionSeconds,
      RefreshToken: sessionSeconds,
      Grant: YEAR,
    },
  };
}

/** Every authorization is asked about, and makes a grant of its own: many installations may share one client id. */
function consent(
  signIns: SignInsStore,
): Pick<Configuration, 'interactions' | 'loadExistingGrant' | 'expiresWithSession'> {
  return {
    interactions: {
      policy: policyOf(signIns),
      url: (_ctx, interaction) => `${INTERACTION_ROUTE}/${interaction.uid}`,
    },
    loadExistingGrant: async (ctx): Promise<Grant | undefined> => {
      const grantId = ctx.oidc.result?.consent?.grantId;
      return grantId ? ctx.oidc.provider.Grant.find(grantId) : undefined;
    },
    expiresWithSession: () => false,
  };
}

function policyOf(signIns: SignInsStore): Policy.DefaultPolicy {
  const policy = interactionPolicy.base();
  const ended = new interactionPolicy.Check(
    'sign_in_ended',
    'the sign-in was ended elsewhere',
    async ({ oidc }) => {
      const { accountId, acr } = oidc.session ?? {};
      return accountId !== undefined && !(await signIns.isOpen(accountId, acr));
    },
  );
  policy.get('login')?.checks.add(ended);
  const unasked = new interactionPolicy.Check(
    'not_asked',
    'the person has not been asked yet',
    'consent_required',
    ({ oidc }) => !oidc.result?.consent,
  );
  policy.get('consent')?.checks.add(unasked);
  return policy;
}

function tokens(
  serviceAccounts: ServiceAccountClients,
): Pick<
  Configuration,
  'extraTokenClaims' | 'issueRefreshToken' | 'rotateRefreshToken' | 'revokeGrantPolicy'
> {
  return {
    // By these a token is looked up at every use.
    extraTokenClaims: async (ctx, token) =>
      token.kind === 'AccessToken' ? { grant_id: token.grantId } : { key_id: serviceAccounts.keyOf(ctx) },
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: () => true,
    // Whichever token of a grant is revoked, the client is done with it.
    revokeGrantPolicy: () => true,
  };
}
