import { type GuardedFetch, GuardedFetchError } from '#libs/guarded-fetch/index.js';
import { Invalid } from '../../platform/errors/index.js';

/** Throws Invalid for an address that the guarded fetch never sends to. A name may still lead to a private address later. */
export function requireReachable(outgoing: GuardedFetch, address: string | URL, field: string): void {
  const url = URL.parse(String(address));
  if (!url) throw new Invalid(`${field} must be an address such as https://mcp.example.com/mcp`);
  try {
    outgoing.refuseUnreachable(url);
  } catch (error) {
    if (error instanceof GuardedFetchError) throw new Invalid(`${field} cannot be used: ${error.message}`);
    throw error;
  }
}
