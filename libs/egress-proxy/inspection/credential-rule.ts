import { EgressRefusal } from '../refusal.js';

/** A header's value, opened for one request. */
export interface CredentialValue {
  /** The whole value of the header. */
  readonly header: string;
  /** What an answer may not hold, besides the header's value. */
  readonly secrets: readonly string[];
}

/** A header that requests to one host get on their way, if they ask for what the rule names. */
export interface CredentialRule {
  /** Tells this rule from others, and each of its versions: connections end when it changes. */
  readonly key: string;
  /** As `normalizeHost` gives it. */
  readonly host: string;
  readonly port: number;
  /** In upper case. */
  readonly methods: readonly string[];
  /** As `normalizePrefix` gives them: `/` is all of the host; `/repos/a` is itself, and what is below `/repos/a/`. */
  readonly paths: readonly string[];
  readonly header: string;
  /**
   * Opens the credential for a request to a path; rejects with EgressRefusal where it cannot be used any more, or with an error that
   * has a `status` and a message for the client.
   */
  readonly value: (signal: AbortSignal, path: string) => Promise<CredentialValue>;
}

/** Encoded: a backslash, a dot, NUL; and a percent sign that would encode one of these, or a slash, for who decodes twice. */
const AMBIGUOUS = /\\|%(?:25)*(?:5c|2e|00)|%(?:25)+2f/i;
const ENCODED_SLASH = /%2f/i;
/** How npm writes the name of a package of a scope, wherever it lies: `/@acme%2ftool` is `/@acme/tool`. */
const SCOPED_PACKAGE = /(?<=\/@[\w.~-]{1,214})%2f/i;
const PATH = /^\/[\x21-\x22\x24-\x3e\x40-\x7e]*$/;
const MAX_PATH = 8_192;

/**
 * The path of a request target, without its query.
 *
 * @throws EgressRefusal for what a server might read as another path than we do
 */
export function pathOf(target: string): string {
  const [path = ''] = target.split('?', 1);
  const isPath = path.length <= MAX_PATH && PATH.test(path) && !AMBIGUOUS.test(path);
  if (!isPath || path.split(/\/|%2f/i).some(isDots))
    throw new EgressRefusal(
      'path',
      'The path has "..", an encoded dot or backslash, or characters that a path has not: write it out',
    );
  return path;
}

/** A segment that leads to another folder; `..;x` does with servers that cut off parameters. */
const isDots = (segment: string): boolean => /^\.{1,2}(?:;.*)?$/.test(segment);

/**
 * A prefix of paths in its one form.
 *
 * @throws EgressRefusal with what is wrong with it
 */
export function normalizePrefix(raw: string): string {
  if (raw.includes('?') || raw.includes('#'))
    throw new EgressRefusal('path', `${JSON.stringify(raw.slice(0, 100))} has more than a path`);
  if (ENCODED_SLASH.test(raw)) throw new EgressRefusal('path', 'A prefix has no encoded slash: write it out');
  const path = pathOf(raw.startsWith('/') ? raw : `/${raw}`).replace(/\/{2,}/g, '/');
  return path.endsWith('/') && path !== '/' ? path.slice(0, -1) : path;
}

/**
 * The prefix of a rule that a path lies below. An encoded slash in what follows the prefix changes nothing: whether a server
 * takes it for a slash or for a part of a name, the path stays below.
 */
export function prefixOf({ paths }: Pick<CredentialRule, 'paths'>, raw: string): string | undefined {
  const path = raw.replace(SCOPED_PACKAGE, '/');
  return paths.find(prefix => prefix === '/' || path === prefix || path.startsWith(`${prefix}/`));
}

export const hostPort = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `${host}:${port}`;

/** The rules of one sandbox, by host and port. */
export class RuleSet {
  private readonly byHost = new Map<string, CredentialRule[]>();

  constructor(rules: readonly CredentialRule[] = []) {
    for (const rule of rules) {
      const same = this.byHost.get(hostPort(rule)) ?? [];
      if (same.some(other => fieldOf(other) === fieldOf(rule)))
        throw new EgressRefusal('rule', `Two credentials would be the header ${rule.header} of ${rule.host}`);
      this.byHost.set(hostPort(rule), [...same, rule]);
    }
  }

  of(host: string, port: number): readonly CredentialRule[] {
    return this.byHost.get(hostPort({ host, port })) ?? [];
  }

  /** Whether requests to a host, at any port, get a credential. */
  hasHost(host: string): boolean {
    return [...this.byHost.values()].some(([rule]) => rule?.host === host);
  }

  /** What changes when a connection to the host may not go on as it began. */
  stateOf(host: string, port?: number): string {
    return [...this.byHost.values()]
      .flat()
      .filter(rule => rule.host === host && (port === undefined || rule.port === port))
      .map(({ key }) => key)
      .toSorted()
      .join(' ');
  }
}

/** How a header is compared: some servers take `_` for `-`. */
export const fieldName = (name: string): string => name.toLowerCase().replaceAll('_', '-');
const fieldOf = ({ header }: CredentialRule): string => fieldName(header);
