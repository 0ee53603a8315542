import { scopeOf } from '../../../platform/access/index.js';
import { type ActionCatalog, permissionToRun } from '../../../platform/actions/index.js';
import { expandScopes } from './scopes.js';

/** What an application with these scopes could open to others, or which rights it could grant, in words. */
export function exposedWith(catalog: ActionCatalog, asked: readonly string[]): string[] {
  const scopes = expandScopes(asked);
  const isReached = (permission: Parameters<typeof scopeOf>[0] | null) =>
    permission === null || scopes.includes(scopeOf(permission));
  return catalog
    .list()
    .map(({ declaration }) => declaration)
    .filter(({ effect, sessionOnly, personOnly }) => effect === 'expose' && !sessionOnly && !personOnly)
    .filter(({ effect, permission }) => isReached(permissionToRun(effect)) && isReached(permission))
    .map(({ summary }) => summary.split(';')[0] ?? summary);
}
