import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { normalizeHost } from './host.js';
import { EgressRefusal } from './refusal.js';

/**
 * An entry of an allow-list in its one form: a host, or `*.` and a domain, which stands for all names below it and not for
 * itself. International names are turned into ASCII.
 *
 * @throws EgressRefusal with what is wrong with it
 */
export function normalizeEntry(raw: string): string {
  const isWild = raw.startsWith('*.');
  const text = isWild ? raw.slice(2) : raw;
  const ascii = /^[\x21-\x7e]*$/.test(text) ? text : domainToASCII(text);
  if (ascii === '') throw new EgressRefusal('host', `${JSON.stringify(raw)} is no host name`);
  const host = normalizeHost(ascii);
  if (isWild && (isIP(host) !== 0 || !host.includes('.')))
    throw new EgressRefusal(
      'host',
      `${JSON.stringify(raw)} would stand for too much: name a domain of at least two labels`,
    );
  return isWild ? `*.${host}` : host;
}

/** Hosts that may be connected to; entries as `normalizeEntry` gives them. */
export class AllowList {
  private readonly exact: ReadonlySet<string>;
  private readonly suffixes: readonly string[];

  constructor(readonly entries: readonly string[]) {
    this.exact = new Set(entries.filter(entry => !entry.startsWith('*.')));
    this.suffixes = entries.filter(entry => entry.startsWith('*.')).map(entry => entry.slice(1));
  }

  /** @param host as `normalizeHost` gives it */
  allows(host: string): boolean {
    return this.exact.has(host) || (isIP(host) === 0 && this.suffixes.some(suffix => host.endsWith(suffix)));
  }
}
