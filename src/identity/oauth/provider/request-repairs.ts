import { OAUTH_ROUTES } from '../pages/routes.js';
import { DEFAULT_SCOPES, OFFERED_SCOPES } from '../scopes/scopes.js';

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
