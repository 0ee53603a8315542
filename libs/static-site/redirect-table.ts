import type { Target } from './paths.js';
import type { RedirectRule } from './redirect-rules.js';
import { type Captures, isPlaceholder, matchPattern, partsOf, RuleIndex } from './rule-pattern.js';

/** A rule that fits a request. */
export interface MatchedRedirect {
  rule: RedirectRule;
  captures: Captures;
  /** It is for this one path, and was not matched by a placeholder. */
  isFixed: boolean;
}

/** The rules of `_redirects`, by the paths they are for. The first that fits decides. */
export class RedirectTable {
  /** Some rule comes before the files. */
  readonly hasForced: boolean;
  readonly #rules: RuleIndex<RedirectRule>;

  constructor(rules: readonly RedirectRule[]) {
    this.hasForced = rules.some(({ force }) => force);
    this.#rules = new RuleIndex(rules, false);
  }

  /** The rules that fit, in the order of the file; host in lower case without its port. */
  *matches({ path, query }: Target, host: string | undefined): Generator<MatchedRedirect> {
    const parameters = new Parameters(query);
    const fixed = this.#rules.fixed(path);
    const parts = this.#rules.patterns.length > 0 ? partsOf(path) : [];
    let [at, patternAt] = [0, 0];
    for (;;) {
      const one = fixed[at];
      const other = this.#rules.patterns[patternAt];
      const entry = one && (!other || one.index < other.index) ? one : other;
      if (!entry) return;
      if (entry === one) at++;
      else patternAt++;
      const { rule, pattern } = entry;
      if (rule.host !== undefined && rule.host !== host) continue;
      const matched = matchPattern(pattern, path, parts);
      const captures = matched && parameters.captured(rule, matched);
      if (captures) yield { rule, captures, isFixed: pattern.fixed !== undefined };
    }
  }
}

/** The parameters of a query, read when the first rule asks for them. */
class Parameters {
  readonly #query: string | undefined;
  #values: Map<string, string> | undefined;

  constructor(query: string | undefined) {
    this.#query = query;
  }

  /** Undefined where the query does not have what the rule asks for. */
  captured(rule: RedirectRule, captures: Captures): Captures | undefined {
    if (!rule.query) return captures;
    this.#values ??= new Map(new URLSearchParams(this.#query ?? ''));
    const all = new Map(captures);
    for (const [name, expected] of rule.query) {
      const value = this.#values.get(name);
      if (value === undefined) return undefined;
      if (isPlaceholder(expected)) all.set(expected.slice(1), value);
      else if (value !== expected) return undefined;
    }
    return all;
  }
}
