import type { Grant } from 'oidc-provider';
import { type Configuration, interactionPolicy, type interactionPolicy as Policy } from 'oidc-provider';
import { errorPage } from '../pages/error-page.js';
import { sendOnKoa } from '../pages/koa-page.js';
import { INTERACTION_ROUTE, OAUTH_ROUTES } from '../pages/routes.js';
import { ACCESS_TOKEN_SECONDS } from '../tokens/access-token.js';
import { CLIENT_DEFAULTS, CLIENT_RULES } from './client-rules.js';
import { featuresOf } from './features.js';
import type { ProviderParts } from './provider-parts.js';

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
