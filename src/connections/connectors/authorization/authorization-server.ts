import {
  type AuthorizationServerMetadata,
  checkResourceAllowed,
  discoverAuthorizationServerMetadata,
  discoverOAuthServerInfo,
  extractWWWAuthenticateParams,
  resourceUrlFromServerUrl,
} from '@modelcontextprotocol/client';
import { type GuardedFetch, GuardedFetchError } from '#libs/guarded-fetch/index.js';
import { plainLine } from '#libs/plain-text/index.js';
import { Conflict } from '../../../platform/errors/index.js';
import type { ConnectorRow } from '../records/connector-rows.js';

/** Authorization server of a connector, and what it gives access to. */
export interface AuthorizationServer {
  readonly issuer: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly registrationEndpoint: string | undefined;
  /** It takes the address of a metadata document for a client id. */
  readonly takesDocuments: boolean;
  /** It names itself whenever it sends people back (RFC 9207). */
  readonly namesIssuer: boolean;
  readonly authMethods: readonly string[] | undefined;
  /** For what tokens are asked (RFC 8707), as the server writes it. */
  readonly resource: string;
  /** Absent: it says nothing of scopes. */
  readonly scopes: readonly string[] | undefined;
  /** As the protocol's client registers there. */
  readonly metadata: AuthorizationServerMetadata;
}

/** Request that makes a server answer 401 with its metadata. */
const PROBE = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
const MAX_SCOPES = 100;

/** Sends only where a server may be: the addresses come from what other servers say. */
export const guarded =
  (outgoing: GuardedFetch) =>
  (url: string | URL, init?: RequestInit): Promise<Response> => {
    outgoing.refuseUnreachable(new URL(url));
    return outgoing.fetch(url, init);
  };

/** Finds out who gives access (RFC 9728, 8414). Throws Conflict, which says why it cannot be used. */
export async function discover(
  outgoing: GuardedFetch,
  { url, authorization_server }: Pick<ConnectorRow, 'url' | 'authorization_server'>,
): Promise<AuthorizationServer> {
  const fetchFn = guarded(outgoing);
  try {
    const { resourceMetadataUrl, scope } = await askChallenge(fetchFn, url);
    const info = await discoverOAuthServerInfo(url, { resourceMetadataUrl, fetchFn });
    const metadata = authorization_server
      ? await discoverAuthorizationServerMetadata(authorization_server, { fetchFn })
      : info.authorizationServerMetadata;
    if (!metadata) throw new Conflict('The server does not say who gives access to it');
    const resource = chooseResource(url, info.resourceMetadata?.resource);
    const { scopes_supported: supported } = info.resourceMetadata ?? {};
    return toServer(outgoing, metadata, resource, scope?.split(' ') ?? supported);
  } catch (error) {
    if (error instanceof Conflict) throw error;
    const why = error instanceof Error ? plainLine(error.message).slice(0, 300) : 'no answer';
    throw new Conflict(`Who gives access to the server could not be found out: ${why}`);
  }
}

async function askChallenge(fetchFn: ReturnType<typeof guarded>, url: string) {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const response = await fetchFn(url, { method: 'POST', headers, body: PROBE, redirect: 'manual' });
  await response.body?.cancel();
  return response.status === 401 ? extractWWWAuthenticateParams(response) : {};
}

/** A server speaks of itself alone: tokens for another one are not asked for on its word. */
function chooseResource(url: string, said: string | undefined): string {
  const own = resourceUrlFromServerUrl(url);
  if (said === undefined) return own.href;
  if (!checkResourceAllowed({ requestedResource: own, configuredResource: said }))
    throw new Conflict(
      `The server says that access is for ${plainLine(said).slice(0, 200)}, which it is not part of`,
    );
  return said;
}

function toServer(
  outgoing: GuardedFetch,
  metadata: AuthorizationServerMetadata,
  resource: string,
  scopes: readonly string[] | undefined,
): AuthorizationServer {
  const { code_challenge_methods_supported: challenges, token_endpoint_auth_methods_supported: authMethods } =
    metadata;
  if (challenges && !challenges.includes('S256'))
    throw new Conflict(
      'The authorization server does not support PKCE with S256, without which it is not used',
    );
  const { registration_endpoint, scopes_supported = [] } = metadata;
  const asked = scopes && [
    ...scopes,
    ...(scopes_supported.includes('offline_access') ? ['offline_access'] : []),
  ];
  return {
    issuer: metadata.issuer,
    authorizationEndpoint: requireEndpoint(
      outgoing,
      'authorization_endpoint',
      metadata.authorization_endpoint,
    ),
    tokenEndpoint: requireEndpoint(outgoing, 'token_endpoint', metadata.token_endpoint),
    registrationEndpoint:
      registration_endpoint && requireEndpoint(outgoing, 'registration_endpoint', registration_endpoint),
    takesDocuments: metadata.client_id_metadata_document_supported === true,
    namesIssuer: metadata.authorization_response_iss_parameter_supported === true,
    authMethods,
    resource,
    scopes: asked && [...new Set(asked)].filter(Boolean).slice(0, MAX_SCOPES),
    metadata,
  };
}

/** Refuses what a browser or we must not be sent to: anything but https, and private places that are not listed. */
function requireEndpoint(outgoing: GuardedFetch, name: string, address: string): string {
  const url = URL.parse(address);
  try {
    if (!url) throw new GuardedFetchError('scheme', 'it is no address');
    outgoing.refuseUnreachable(url);
    return url.href;
  } catch (error) {
    if (!(error instanceof GuardedFetchError)) throw error;
    throw new Conflict(`The ${name} of the authorization server cannot be used: ${error.message}`);
  }
}
