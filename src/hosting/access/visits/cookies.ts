import type { IncomingHttpHeaders } from 'node:http';

/** A cookie of ours on the hosts of sites and servers. */
export type CookieName = 'visit' | 'start' | 'round';

/** How long a browser remembers each, in seconds. */
const LIVES: Record<CookieName, number> = { visit: 12 * 3600, start: 600, round: 30 };
/** What one of ours looks like. */
const VALUE = /^[\w-]{1,64}$/;
/** A neighbour may have set more of our name than there is room for. */
const MAX_TRIED = 8;

/**
 * Cookies of visits. Under HTTPS their prefix keeps neighbouring hosts from setting them (RFC 6265bis); where there is none,
 * as on http://*.localhost, all of the name are tried.
 */
export class HostedCookies {
  constructor(private readonly isSecure: boolean) {}

  nameOf(name: CookieName): string {
    return `${this.isSecure ? '__Host-' : ''}atl_${name}`;
  }

  /** All values of that name that could be ours. */
  read({ cookie = '' }: IncomingHttpHeaders, name: CookieName): string[] {
    const prefix = `${this.nameOf(name)}=`;
    return cookie
      .split(';')
      .map(pair => pair.trim())
      .filter(pair => pair.startsWith(prefix))
      .map(pair => pair.slice(prefix.length))
      .filter(value => VALUE.test(value))
      .slice(0, MAX_TRIED);
  }

  set(name: CookieName, value: string): string {
    return `${this.nameOf(name)}=${value}; Path=/; Max-Age=${LIVES[name]}; HttpOnly; SameSite=Lax${this.isSecure ? '; Secure' : ''}`;
  }

  clear(name: CookieName): string {
    return `${this.nameOf(name)}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax${this.isSecure ? '; Secure' : ''}`;
  }
}
