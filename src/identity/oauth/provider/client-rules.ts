import { type Configuration, errors } from 'oidc-provider';
import { LINE } from '../../../platform/dto/index.js';
import { OAUTH_ROUTES } from '../pages/pages.js';
import { DEFAULT_SCOPES, OFFERED_SCOPES } from '../scopes/scopes.js';
import { isServiceAccountClient } from '../storage/clients.store.js';

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];
const MAX_REDIRECTS = 20;
const MAX_TEXT = 2048;

type Metadata = Record<string, unknown> & { client_id?: unknown };
type Rule = (value: unknown, metadata: Metadata) => void;

function refuse(message: string): never {
  throw new errors.InvalidClientMetadata(message);
}

const isPlainHttpElsewhere = (uri: unknown): boolean => {
  const parsed = typeof uri === 'string' ? URL.parse(uri) : null;
  return parsed?.protocol === 'http:' && !LOOPBACK.includes(parsed.hostname);
};

/** A rule a field; each runs before oidc-provider's own checks, for clients that register and for metadata documents. */
const RULES: Record<string, Rule> = {
  // Clients write all sorts of scopes here and ask for others later; what counts is what a person allows.
  scope: (_value, metadata) => {
    delete metadata.scope;
  },
  redirect_uris: uris => {
    if (!Array.isArray(uris)) return;
    if (uris.length > MAX_REDIRECTS) refuse(`redirect_uris must have at most ${MAX_REDIRECTS} members`);
    if (uris.some(isPlainHttpElsewhere))
      refuse('redirect_uris must use https, but for loopback addresses (OAuth 2.1 section 2.3.1)');
  },
  grant_types: (types, { client_id }) => {
    const asked = Array.isArray(types) && types.includes('client_credentials');
    if (asked && !isServiceAccountClient(String(client_id)))
      refuse('grant_types must not hold client_credentials; that is for service accounts');
  },
  client_name: name => {
    if (typeof name !== 'string') return;
    if (name.length > MAX_TEXT) refuse('client_name is too long');
    if (!LINE.pattern.test(name)) refuse(`client_name ${LINE.patternHint}`);
  },
};

/** What we ask of clients beyond the standard, and where we ask less. */
export const CLIENT_RULES: Configuration['extraClientMetadata'] = {
  properties: Object.keys(RULES),
  validator: (_ctx, key, value, metadata) => RULES[key]?.(value, metadata as Metadata),
};

/** What is taken for granted where a client says nothing: most are programs on the person's own machine. */
export const CLIENT_DEFAULTS: Configuration['clientDefaults'] = {
  application_type: 'native',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  id_token_signed_response_alg: 'ES256',
};

const ASKS_FOR_SCOPES: string[] = [
  OAUTH_ROUTES.authorization,
  OAUTH_ROUTES.pushed_authorization_request,
  OAUTH_ROUTES.device_authorization,
];

/**
 * Makes good what clients in the field leave out or write differently, before the standard's own rules are applied:
 * a resource with a slash at its end, no scope, or none that we know.
 */
export function repairParameters(path: string, parameters: URLSearchParams): void {
  if (parameters.has('resource')) {
    const resources = parameters.getAll('resource').map(resource => resource.replace(/\/$/, ''));
    parameters.delete('resource');
    for (const resource of new Set(resources)) parameters.append('resource', resource);
  }
  if (!asksForScopes(path, parameters)) return;
  const scopes = (parameters.get('scope') ?? '').split(' ').filter(Boolean);
  if (parameters.getAll('scope').length > 1 || scopes.some(scope => OFFERED_SCOPES.includes(scope))) return;
  parameters.set('scope', [...scopes, ...DEFAULT_SCOPES].join(' '));
}

function asksForScopes(path: string, parameters: URLSearchParams): boolean {
  // A pushed request says it all already.
  if (parameters.has('request_uri')) return false;
  const forItself = path === OAUTH_ROUTES.token && parameters.get('grant_type') === 'client_credentials';
  return forItself || ASKS_FOR_SCOPES.includes(path);
}
