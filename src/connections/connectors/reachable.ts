import { type GuardedFetch, GuardedFetchError } from '#libs/guarded-fetch/index.js';
import { Invalid } from '../../platform/errors/index.js';

/** Refuses an address that nothing will ever be sent to. A name may still turn out to lead to a private address when it is. */
export function requireReachable(outgoing: GuardedFetch, address: string, field: string): void {
  const url = URL.parse(address);
  if (!url) throw new Invalid(`${field} must be an address such as https://mcp.example.com/mcp`);
  try {
    outgoing.refuseUnreachable(url);
  } catch (error) {
    if (error instanceof GuardedFetchError) throw new Invalid(`${field} cannot be used: ${error.message}`);
    throw error;
  }
}
