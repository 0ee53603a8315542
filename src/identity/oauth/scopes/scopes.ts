import { READ_SCOPES, SCOPES } from '../../../platform/access/index.js';

/** Short names that clients ask for; each stands for many scopes. */
const BUNDLES = ['read', 'write'] as const;

/** What changes who may do what, or what is paid: a client has to name these one by one, no bundle holds them. */
const ADMINISTRATION =
  /^(account|agents|billing|grants|keys|members|models|organizations|service_accounts):write$/;

export const isRead = (scope: string): boolean => READ_SCOPES.includes(scope);

/** Whether a scope is about who may do what, or what is paid. */
export const isAdministration = (scope: string): boolean => ADMINISTRATION.test(scope);

const WRITE = SCOPES.filter(scope => !ADMINISTRATION.test(scope));

/** What a client gets that asks for nothing in particular. */
export const DEFAULT_SCOPES = [...BUNDLES];

/** What discovery offers: few enough to ask for all of them. */
export const ADVERTISED_SCOPES: readonly string[] = BUNDLES;

/** Everything that a token for one of our resources may hold. */
export const OFFERED_SCOPES: readonly string[] = [...BUNDLES, ...SCOPES];

/** The scopes of `policy.ts` that a token with these has. */
export function expandScopes(scopes: readonly string[]): string[] {
  const all = scopes.flatMap(scope => {
    if (scope === 'read') return READ_SCOPES;
    if (scope === 'write') return WRITE;
    return SCOPES.includes(scope) ? [scope] : [];
  });
  return [...new Set(all)].sort();
}

/**
 * What a client asks for next that holds the scopes `held` and lacks one: all that it has as well, since what a person says
 * to the new request takes the place of the old (RFC 6750 section 3.1, `scope`).
 */
export function stepUp(held: readonly string[], lacking: string): string[] {
  const holdsAll = (scopes: readonly string[]) => scopes.every(scope => held.includes(scope));
  const bundles = holdsAll(WRITE) ? ['read', 'write'] : holdsAll(READ_SCOPES) ? ['read'] : [];
  const others = held.filter(scope => !expandScopes(bundles).includes(scope));
  const next = bundles.length > 0 && WRITE.includes(lacking) ? 'write' : lacking;
  return [...new Set([...bundles, ...others, next])];
}

/** Those that change nothing. */
export function readOnly(scopes: readonly string[]): string[] {
  return scopes.filter(scope => scope === 'read' || isRead(scope));
}
