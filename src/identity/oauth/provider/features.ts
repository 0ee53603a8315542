import type { Client, Configuration, KoaContextWithOIDC } from 'oidc-provider';
import { errors } from 'oidc-provider';
import { randomSecret } from '../../../platform/access/index.js';
import { SIGNING_ALGORITHM } from '../keys/signing-keys.js';
import { deviceCodePage, deviceConfirmPage, deviceDonePage } from '../pages/device-pages.js';
import { sendOnKoa } from '../pages/koa-page.js';
import { OFFERED_SCOPES } from '../scopes/scopes.js';
import { ACCESS_TOKEN_SECONDS } from '../tokens/access-token.js';
import type { ProviderParts } from './provider-parts.js';

type Features = NonNullable<Configuration['features']>;

/** Tells only the client that a token belongs to about it. */
const ownToken = (_ctx: unknown, client: Client, token: { clientId?: string }) =>
  token.clientId === client.clientId;

/** What the authorization server can do, and how. What is not named is off. */
export function featuresOf(parts: ProviderParts): Features {
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
