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
import { type OAuthResources } from '../scopes/oauth-resources.js';
import { OFFERED_SCOPES } from '../scopes/scopes.js';
import { ACCESS_TOKEN_SECONDS } from '../tokens/token-handles.js';
import { CLIENT_DEFAULTS, CLIENT_RULES } from './client-rules.js';

/** What the authorization server is made of. */
interface ProviderParts {
  readonly resources: OAuthResources;
  readonly keys: KeyRing;
  readonly adapter: NonNullable<Configuration['adapter']>;
  readonly fetch: NonNullable<Configuration['fetch']>;
  /** The first signs, all of them verify. */
  readonly cookieKeys: string[];
  readonly sessionSeconds: number;
  /** Whether the client at work may have its metadata document fetched. */
  readonly admitDocument: () => Promise<boolean>;
  /** Whether the sign-in that a browser session stands on goes on. */
  readonly isSignedIn: (accountId: string, signIn: string | undefined) => Promise<boolean>;
  readonly accountExists: (accountId: string) => Promise<boolean>;
  /** The API key that the request at work authenticated with as a service account. */
  readonly keyOfRequest: (request: object) => string | undefined;
}

type Features = NonNullable<Configuration['features']>;

/** Tells only the client that a token belongs to about it. */
const ownToken = (_ctx: unknown, client: Client, token: { clientId?: string }) =>
  token.clientId === client.clientId;

/** What the authorization server can do, and how. What is not named is off. */
function featuresOf(parts: ProviderParts): Features {
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
      allowFetch: () => parts.admitDocument(),
    },
    deviceFlow: deviceFlow(),
    resourceIndicators: resourceIndicators(parts),
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

function resourceIndicators({ resources, keys }: ProviderParts): Features['resourceIndicators'] {
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
export function configurationOf(parts: ProviderParts): Configuration {
  return {
    adapter: parts.adapter,
    jwks: { keys: parts.keys.privateJwks() as never },
    fetch: parts.fetch,
    fetchResponseBodyLimits: { jwks_uri: 64 * 1024, sector_identifier_uri: 64 * 1024 },
    routes: OAUTH_ROUTES,
    features: featuresOf(parts),
    clientDefaults: CLIENT_DEFAULTS,
    extraClientMetadata: CLIENT_RULES,
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    responseTypes: ['code'],
    scopes: ['openid', 'offline_access'],
    pkce: { required: () => true },
    // Any page may ask: no cookie counts at these endpoints.
    clientBasedCORS: () => true,
    cookies: {
      names: cookieNames(parts.resources.issuer.startsWith('https:')),
      keys: parts.cookieKeys,
    },
    ...lives(parts),
    ...consent(parts),
    ...tokens(parts),
    findAccount: async (_ctx, accountId) =>
      (await parts.accountExists(accountId))
        ? { accountId, claims: async () => ({ sub: accountId }) }
        : undefined,
    renderError: (ctx, out) => sendOnKoa(ctx, errorPage(out)),
  };
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
function lives({ sessionSeconds }: ProviderParts): Pick<Configuration, 'ttl'> {
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
  parts: ProviderParts,
): Pick<Configuration, 'interactions' | 'loadExistingGrant' | 'expiresWithSession'> {
  return {
    interactions: {
      policy: policyOf(parts),
      url: (_ctx, interaction) => `${INTERACTION_ROUTE}/${interaction.uid}`,
    },
    loadExistingGrant: async (ctx): Promise<Grant | undefined> => {
      const grantId = ctx.oidc.result?.consent?.grantId;
      return grantId ? ctx.oidc.provider.Grant.find(grantId) : undefined;
    },
    expiresWithSession: () => false,
  };
}

function policyOf({ isSignedIn }: ProviderParts): Policy.DefaultPolicy {
  const policy = interactionPolicy.base();
  const ended = new interactionPolicy.Check(
    'sign_in_ended',
    'the sign-in was ended elsewhere',
    async ({ oidc }) => {
      const { accountId, acr } = oidc.session ?? {};
      return accountId !== undefined && !(await isSignedIn(accountId, acr));
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

function tokens({
  keyOfRequest,
}: ProviderParts): Pick<
  Configuration,
  'extraTokenClaims' | 'issueRefreshToken' | 'rotateRefreshToken' | 'revokeGrantPolicy'
> {
  return {
    // By these a token is looked up at every use.
    extraTokenClaims: async (ctx, token) =>
      token.kind === 'AccessToken' ? { grant_id: token.grantId } : { key_id: keyOfRequest(ctx) },
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: () => true,
    // Whichever token of a grant is revoked, the client is done with it.
    revokeGrantPolicy: () => true,
  };
}
