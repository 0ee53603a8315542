/** Names and values in turn, as Node's `rawHeaders` are. */
export type RawHeaders = readonly string[];

/** Visible characters, spaces, tabs and bytes above ASCII (RFC 9110, section 5.5). */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Fields about one connection, which end at it (RFC 9110, section 7.6.1). */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-authentication-info',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** Fields that a peer cannot take away by naming them in `Connection`: framing and routing depend on them. */
const KEPT = new Set(['content-length', 'host', 'content-type', 'set-cookie', 'cache-control']);
/** Fields that mean something before the body, and nothing after it (RFC 9110, section 6.5.1). */
const NO_TRAILER = new Set([
  'authorization',
  'cache-control',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'cookie',
  'host',
  'location',
  'set-cookie',
  'transfer-encoding',
  'trailer',
  'www-authenticate',
]);

export const isFieldValue = (text: string): boolean => VALUE.test(text);

/** All values of a field, in order. */
export function valuesOf(headers: RawHeaders, name: string): string[] {
  const values: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const written = headers[at] as string;
    if (written.length === name.length && written.toLowerCase() === name) values.push(headers[at + 1] ?? '');
  }
  return values;
}

/** The members of a field that is a list, in lower case. */
export function membersOf(headers: RawHeaders, name: string): string[] {
  const values = valuesOf(headers, name);
  if (values.length === 0) return values;
  return values
    .flatMap(value => value.split(','))
    .map(member => member.trim().toLowerCase())
    .filter(member => member !== '');
}

/** Says whether a field ends at this connection: by its name, or because `Connection` names it. */
export function endsHere(headers: RawHeaders): (name: string) => boolean {
  const named = membersOf(headers, 'connection').filter(name => !KEPT.has(name));
  if (named.length === 0) return name => HOP_BY_HOP.has(name);
  return name => HOP_BY_HOP.has(name) || named.includes(name);
}

export const isAllowedInTrailers = (name: string): boolean => !HOP_BY_HOP.has(name) && !NO_TRAILER.has(name);
