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
