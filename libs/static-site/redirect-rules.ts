import type { Finding } from './finding.js';
import { decodedRulePath, linesOf, RuleCount, splitHost } from './rule-limits.js';
import { type Captures, compilePattern, isPlaceholder, trimmed } from './rule-pattern.js';

/** A line of `_redirects`. */
export interface RedirectRule {
  /** Only on this host, in lower case, without a port. */
  host?: string;
  /** Decoded; may have placeholders (`:name`), and `*` as its last part. */
  path: string;
  /** Parameters that the query must have: their value, or `:name` to capture it. */
  query?: [name: string, value: string][];
  /** Of a redirect, the `Location` with placeholders; of 200, 404 and 410, a decoded path of this site. */
  to: string;
  status: number;
  /** `!`: it comes before the files. */
  force: boolean;
  /** From 1. */
  line: number;
}

const FILE = '_redirects';
/** Parameters that a rule asks for. */
const MAX_PARAMETERS = 8;

const REDIRECTS = [301, 302, 303, 307, 308];
const REWRITES = [200, 404, 410];

export const isRedirect = (status: number): boolean => REDIRECTS.includes(status);

/**
 * Reads `_redirects` (Netlify's format): `from [name=value …] to [status[!]]`. What cannot be used is a finding with its line, and
 * the rest counts.
 */
export function parseRedirects(text: string): { rules: RedirectRule[]; findings: Finding[] } {
  const findings: Finding[] = [];
  const rules: RedirectRule[] = [];
  const count = new RuleCount(FILE, findings);
  for (const { number, text: line } of linesOf(FILE, text, findings)) {
    const rule = ruleOf(line, number);
    if (typeof rule === 'string') findings.push({ level: 'error', file: FILE, line: number, message: rule });
    else if (count.admits(rule.isFixed, number)) rules.push(rule.rule);
  }
  return { rules, findings };
}

function ruleOf(line: string, number: number): { rule: RedirectRule; isFixed: boolean } | string {
  const [from = '', ...rest] = withoutComment(line.split(/\s+/));
  const { host, path: written } = splitHost(from);
  const path = decodedRulePath(written);
  if (path === undefined)
    return 'The first word is not a path: it begins with one /, and has no . or .. in it.';
  const pattern = compilePattern(path, false);
  if (typeof pattern === 'string') return pattern;
  const toIndex = rest.findIndex(word => word.startsWith('/') || /^https?:/i.test(word));
  const { status, force, fault } = statusOf(rest[toIndex < 0 ? 0 : toIndex + 1]);
  if (fault !== undefined) return fault;
  // As with Netlify: `/api/* 200` is short for `/api/* /api/:splat 200`.
  const target =
    toIndex < 0 && pattern.hasSplat && status === 200 ? written.replace(/\*$/, ':splat') : rest[toIndex];
  if (target === undefined) return 'There is no target: it begins with /, http:// or https://.';
  if (rest.length > toIndex + 2 && toIndex >= 0)
    return `Conditions are not supported: ${rest[toIndex + 2]}. Rules are chosen by path, query and host.`;
  const query = queryOf(toIndex < 0 ? [] : rest.slice(0, toIndex));
  if (typeof query === 'string') return query;
  const names = new Set([
    ...pattern.parts.filter(isPlaceholder).map(part => part.slice(1)),
    ...query.flatMap(([, value]) => (isPlaceholder(value) ? [value.slice(1)] : [])),
    ...(pattern.hasSplat ? ['splat'] : []),
  ]);
  const to = isRedirect(status) ? locationOf(target, names) : rewriteOf(target, names);
  if (typeof to === 'string') return to;
  if (
    isRedirect(status) &&
    host === undefined &&
    query.length === 0 &&
    trimmed(pathPart(to.to)) === trimmed(path)
  )
    return 'The rule leads to its own path.';
  const isFixed = pattern.fixed !== undefined;
  return {
    rule: {
      ...(host === undefined ? {} : { host }),
      path,
      ...(query.length === 0 ? {} : { query }),
      to: to.to,
      status,
      force,
      line: number,
    },
    isFixed,
  };
}

function withoutComment(words: string[]): string[] {
  const comment = words.findIndex(word => word.startsWith('#'));
  return comment < 0 ? words : words.slice(0, comment);
}

function statusOf(word: string | undefined): { status: number; force: boolean; fault?: string } {
  if (word === undefined) return { status: 301, force: false };
  const match = /^(\d{3})(!?)$/.exec(word);
  const status = Number(match?.[1]);
  if (REDIRECTS.includes(status) || REWRITES.includes(status)) return { status, force: match?.[2] === '!' };
  return {
    status: 0,
    force: false,
    fault: word.includes('=')
      ? `Conditions are not supported: ${word}. Rules are chosen by path, query and host.`
      : `${word} is not a status that a rule can have: ${[...REWRITES, ...REDIRECTS].sort().join(', ')}, and ! to come before files.`,
  };
}

function queryOf(words: string[]): [string, string][] | string {
  const pairs: [string, string][] = [];
  for (const word of words) {
    const equals = word.indexOf('=');
    if (equals < 1)
      return `The target begins with /, http:// or https://, and a parameter is name=value: ${word} is neither.`;
    pairs.push([word.slice(0, equals), word.slice(equals + 1)]);
  }
  return pairs.length > MAX_PARAMETERS ? `A rule can ask for ${MAX_PARAMETERS} parameters at most.` : pairs;
}

/** A target of a redirect: `/path` of this site, or a URL whose host is fixed. */
function locationOf(target: string, names: ReadonlySet<string>): { to: string } | string {
  if (/[\\<>"`{}|^]/.test(target)) return 'The target has characters that have to be encoded.';
  const match = /^(https?:\/\/[^/?#]+)?((?:\/[^/].*|\/)?(?:[?#].*)?)$/is.exec(target);
  if (!match || (match[1] === undefined && !target.startsWith('/')))
    return 'The target is not a URL: it begins with one /, http:// or https://.';
  if (match[1] !== undefined && !isOrigin(match[1]))
    return 'The host of the target is not valid: it has no placeholders and no user.';
  return unknownName(target.slice(match[1]?.length ?? 0), names) ?? { to: target };
}

function unknownName(path: string, names: ReadonlySet<string>): string | undefined {
  const unknown = [...path.matchAll(/\/:([A-Za-z_]\w*)/g)].find(([, name]) => !names.has(name ?? ''));
  return unknown ? `Nothing on the left is called :${unknown[1]}.` : undefined;
}

function isOrigin(origin: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { username, password, host } = new URL(origin);
  return (
    username === '' &&
    password === '' &&
    host !== '' &&
    /^https?:\/\/[A-Za-z0-9.\-[\]:\u0080-\uffff]+$/i.test(origin)
  );
}

/** A target of a rewrite: the path of a file of this site. */
function rewriteOf(target: string, names: ReadonlySet<string>): { to: string } | string {
  if (/^https?:/i.test(target))
    return 'Only a path of this site can be answered here: other hosts are not fetched. Redirect to it.';
  const path = decodedRulePath(target.replace(/[?#].*$/s, ''));
  if (path === undefined)
    return 'The target is not a path of this site: it begins with one /, and has no . or .. in it.';
  return unknownName(path, names) ?? { to: path };
}

const pathPart = (to: string): string => decodedRulePath(to.replace(/[?#].*$/s, '')) ?? '';

const TOKEN = /:([A-Za-z_][A-Za-z0-9_]*)/g;

/** The path that a rewrite leads to. */
export function rewritten(rule: RedirectRule, captures: Captures): string {
  return rule.to.replace(TOKEN, (token, name: string) => captures.get(name) ?? token).replace(/^\/{2,}/, '/');
}

/** The `Location` of a redirect: ASCII only, and what was captured is encoded, so that it cannot change the host. */
export function locationFor(rule: RedirectRule, captures: Captures, query: string | undefined): string {
  const origin = /^https?:\/\/[^/?#]+/i.exec(rule.to)?.[0] ?? '';
  const written = rule.to.slice(origin.length).replace(TOKEN, (token, name: string) => {
    const value = captures.get(name);
    if (value === undefined) return token;
    return name === 'splat' ? value.split('/').map(encoded).join('/') : encoded(value);
  });
  const rest = asciiOf(written).replace(/^\/{2,}/, '/');
  const hasQuery = rule.to.includes('?') || rule.query !== undefined;
  const hash = rest.indexOf('#');
  const end = hash < 0 ? rest.length : hash;
  const kept = query === undefined || hasQuery ? '' : `?${asciiOf(query)}`;
  return `${asciiOrigin(origin)}${rest.slice(0, end) || (origin === '' ? '/' : '')}${kept}${rest.slice(end)}`;
}

const encoded = (part: string): string => encodeURIComponent(part.toWellFormed()).replaceAll('%252F', '%2F');

/** Internationalized hosts in their ASCII form. */
const asciiOrigin = (origin: string): string =>
  /^[\x20-\x7e]*$/.test(origin) ? origin : new URL(origin).origin;

/** Without what no header may have; what is encoded already stays. */
const asciiOf = (text: string): string =>
  text.toWellFormed().replace(/[^\x21-\x7e]+|["<>\\^`{|}]/g, part => encodeURIComponent(part));
