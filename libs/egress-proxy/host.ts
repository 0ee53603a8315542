import { isIP } from 'node:net';
import { EgressRefusal } from './refusal.js';

/** One label of a name that programs look up (RFC 1123, and the underscore that some names have). */
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
const LONGEST_NAME = 253;
/** What `inet_aton` takes for an address although it is none by RFC 3986: `127.1`, `0x7f000001`, `2130706433`. */
const NUMERIC = /^(?:0x[0-9a-f]*|\d+)$/;

/**
 * A host as it is compared and connected to: lower case, without the dot of the root.
 *
 * @throws EgressRefusal for what another program might read otherwise: NUL, control and non-ASCII characters, a user
 * name, an encoded character, an address in other clothes
 */
export function normalizeHost(raw: string): string {
  const shown = JSON.stringify(raw.slice(0, 100));
  if (!/^[\x21-\x7e]+$/.test(raw))
    throw new EgressRefusal('host', `${shown} is no host name: it has characters outside of ASCII`);
  const host = raw.toLowerCase();
  if (host.startsWith('[') && host.endsWith(']') && isIP(host.slice(1, -1)) === 6) return host.slice(1, -1);
  if (isIP(host) === 4) return host;
  const name = host.endsWith('.') ? host.slice(0, -1) : host;
  const labels = name.split('.');
  const isName = name.length <= LONGEST_NAME && labels.every(label => LABEL.test(label));
  if (!isName) throw new EgressRefusal('host', `${shown} is no host name`);
  if (NUMERIC.test(labels.at(-1) ?? ''))
    throw new EgressRefusal(
      'host',
      `${shown} is an address in a form that is not taken; write it as a.b.c.d`,
    );
  return name;
}

/** Host and port of `host:port`; the port may be absent where there is a default. */
export function splitAuthority(authority: string, defaultPort?: number): { host: string; port: number } {
  const [, raw, digits] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(authority) ?? [];
  const port = digits === undefined ? defaultPort : Number(digits);
  if (raw === undefined || port === undefined || port < 1 || port > 65_535)
    throw new EgressRefusal(
      'host',
      `${JSON.stringify(authority.slice(0, 100))} does not name a host and a port`,
    );
  return { host: normalizeHost(raw), port };
}
