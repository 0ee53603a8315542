import type { Finding } from './finding.js';
import { decodedRulePath, linesOf, RuleCount, splitHost } from './rule-limits.js';
import { compilePattern } from './rule-pattern.js';

/** A block of `_headers`. */
export interface HeaderRule {
  /** Only on this host, in lower case, without a port. */
  host?: string;
  /** Decoded, may have placeholders (`:name`) and one `*`. */
  path: string;
  /** Names as written, and values; a name stands once. */
  values: [name: string, value: string][];
}

const FILE = '_headers';

/** Bytes of the names and values of one block. */
const MAX_BLOCK_BYTES = 8192;

// RFC 9110 sections 5.1 and 5.5, without obs-text: what proxies change or refuse is not sent.
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const VALUE = /^[\t\x20-\x7e]*$/;

/** Names, in lower case, that the server answers for itself, with the reason; `*` at the end stands for any rest. */
const REFUSED: [names: string, why: string][] = [
  [
    'connection keep-alive proxy-* te trailer trailers transfer-encoding upgrade http2-settings',
    'It belongs to the connection, not to the answer.',
  ],
  ['content-length content-encoding content-range accept-ranges', 'The server sets it by the file it sends.'],
  ['etag last-modified date age via server location', 'The server sets it itself.'],
  ['set-cookie set-cookie2', 'A static site sets no cookies by headers; a script of the site can.'],
  ['alt-svc', 'It would send visitors past the server.'],
  ['www-authenticate authentication-info basic-auth', 'Who may open the site is set with its access.'],
  ['x-accel-* x-sendfile x-sendfile-type x-lighttpd-send-file', 'It is an instruction to the proxy.'],
  ['cdn-cache-control *-cdn-cache-control surrogate-* x-accel-expires', 'Set Cache-Control instead.'],
  ['clear-site-data', 'It would reach cookies of other hosts.'],
  ['atelier-* x-atelier-*', 'The name is reserved.'],
];

function whyRefused(name: string): string | undefined {
  const lower = name.toLowerCase();
  for (const [names, why] of REFUSED)
    for (const one of names.split(' ')) {
      if (
        one.endsWith('*')
          ? lower.startsWith(one.slice(0, -1))
          : one.startsWith('*') && lower.endsWith(one.slice(1))
      )
        return why;
      if (one === lower) return why;
    }
  return undefined;
}

/**
 * Reads `_headers` (Netlify's format): a path on a line of its own, then `Name: value` lines. The same name twice in a block makes
 * one header with both values. What cannot be used is a finding with its line, and the rest counts.
 */
export function parseHeaders(text: string): { rules: HeaderRule[]; findings: Finding[] } {
  const findings: Finding[] = [];
  const rules: HeaderRule[] = [];
  const count = new RuleCount(FILE, findings);
  const fault = (line: number, message: string) =>
    void findings.push({ level: 'error', file: FILE, line, message });
  let block: { values: Map<string, [string, string]>; bytes: number } | undefined;
  let isIgnored = false;
  const finish: (() => void)[] = [];
  for (const { number, text: line } of linesOf(FILE, text, findings)) {
    if (line.startsWith('/') || /^https?:\/\//i.test(line)) {
      const rule = pathOf(line);
      isIgnored = true;
      block = undefined;
      if (typeof rule === 'string') fault(number, rule);
      else if (count.admits(rule.isFixed, number)) {
        const values = new Map<string, [string, string]>();
        isIgnored = false;
        block = { values, bytes: 0 };
        const { host, path } = rule;
        finish.push(() => {
          if (values.size > 0)
            rules.push({ ...(host === undefined ? {} : { host }), path, values: [...values.values()] });
          else
            findings.push({
              level: 'warning',
              file: FILE,
              line: number,
              message: 'No headers follow this path.',
            });
        });
      }
      continue;
    }
    const message = block
      ? addHeader(block, line)
      : isIgnored
        ? undefined
        : 'A path has to stand before the headers.';
    if (message !== undefined) fault(number, message);
  }
  for (const end of finish) end();
  return { rules, findings };
}

function pathOf(line: string): { host?: string; path: string; isFixed: boolean } | string {
  const { host, path: written } = splitHost(line);
  const path = decodedRulePath(written);
  if (path === undefined) return 'This is not a path: it begins with one /, and has no . or .. in it.';
  const pattern = compilePattern(path, true);
  if (typeof pattern === 'string') return pattern;
  return { ...(host === undefined ? {} : { host }), path, isFixed: pattern.fixed !== undefined };
}

function addHeader(
  block: { values: Map<string, [string, string]>; bytes: number },
  line: string,
): string | undefined {
  const colon = line.indexOf(':');
  if (line.startsWith('!')) return 'Headers cannot be removed.';
  if (colon < 0) return 'This is neither a path nor a header (Name: value).';
  const name = line.slice(0, colon).trim();
  const value = line.slice(colon + 1).trim();
  if (!NAME.test(name)) return 'The name of the header has characters that are not allowed.';
  if (value === '') return `${name} has no value.`;
  if (!VALUE.test(value))
    return `The value of ${name} has characters that are not allowed: it takes printable ASCII.`;
  const why = whyRefused(name);
  if (why !== undefined) return `${name} cannot be set. ${why}`;
  block.bytes += name.length + value.length + 4;
  if (block.bytes > MAX_BLOCK_BYTES)
    return `The headers of one path are longer than ${MAX_BLOCK_BYTES} bytes.`;
  const before = block.values.get(name.toLowerCase());
  block.values.set(name.toLowerCase(), before ? [before[0], `${before[1]}, ${value}`] : [name, value]);
  return undefined;
}
