import type { IncomingHttpHeaders } from 'node:http';

export type CookieName = 'visit' | 'start' | 'round';

const LIVES: Record<CookieName, number> = { visit: 12 * 3600, start: 600, round: 30 };
/** Format of our cookie values. */
const VALUE = /^[\w-]{1,64}$/;
/** Neighbouring hosts may set cookies of the same name. */
const MAX_TRIED = 8;

/**
 * Visit cookies. Under HTTPS their `__Host-` prefix keeps neighbours from setting them (RFC 6265bis); without it, all values
 * are tried.
 */
export class HostedCookies {
  constructor(private readonly isSecure: boolean) {}

  nameOf(name: CookieName): string {
    return `${this.isSecure ? '__Host-' : ''}atl_${name}`;
  }

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
