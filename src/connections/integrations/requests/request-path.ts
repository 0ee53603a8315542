import { EgressRefusal, normalizePrefix, pathFault, prefixOf } from '#libs/egress-proxy/index.js';
import { Invalid } from '../../../platform/errors/index.js';

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type Method = (typeof METHODS)[number];

const MAX_PATH = 2000;

/** A path as it is sent, which every server reads alike, as paths of requests from sandboxes. Throws Invalid. */
export function requestPath(path: string, field = 'path'): string {
  if (!path.startsWith('/')) throw new Invalid(`${field} must begin with /`);
  if (path.length > MAX_PATH) throw new Invalid(`${field} must have at most ${MAX_PATH} characters`);
  const encoded = path.toWellFormed().replace(/[^\p{ASCII}]+/gu, encodeURIComponent);
  const fault = pathFault(encoded);
  if (fault) throw new Invalid(`${field} must not have ${fault}`);
  return new URL(encoded, 'https://x').pathname;
}

/** As {@link requestPath}, for comparing others with it: a grant names whole segments, and no slash at the end. */
export function normalPath(path: string, field: string): string {
  const sent = requestPath(path, field);
  try {
    return normalizePrefix(sent);
  } catch (error) {
    if (!(error instanceof EgressRefusal)) throw error;
    throw new Invalid(`${field} must not have encoded slashes: write them out`);
  }
}

/** A granted path of an API in full: grants name it without the path of the base address. */
export const apiPath = (base: string, granted: string): string => (granted === '/' ? '/' : base + granted);

/** Whether a path is below one of these: `/repos/acme` has `/repos/acme/x` and not `/repos/acme-two`. None: any. */
export const isBelow = (path: string, prefixes: readonly string[]): boolean =>
  prefixes.length === 0 || prefixOf(prefixes, path) !== undefined;
