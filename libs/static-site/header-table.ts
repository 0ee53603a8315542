import type { HeaderRule } from './header-rules.js';
import { compilePattern, matchPattern, partsOf, type RulePattern, trimmed } from './rule-pattern.js';

/** Bytes of headers that rules add to an answer. */
const MAX_ADDED_BYTES = 16 * 1024;

interface Pattern {
  index: number;
  rule: HeaderRule;
  pattern: RulePattern;
}

/** The blocks of `_headers`, by the paths they are for. All that fit count. */
export class HeaderTable {
  /** What a path gets depends on the host. */
  readonly hasHosts: boolean;
  readonly #fixed = new Map<string, Pattern[]>();
  readonly #patterns: Pattern[] = [];

  constructor(rules: readonly HeaderRule[]) {
    this.hasHosts = rules.some(({ host }) => host !== undefined);
    for (const [index, rule] of rules.entries()) {
      const pattern = compilePattern(rule.path, true);
      if (typeof pattern === 'string') continue;
      const entry = { index, rule, pattern };
      if (pattern.fixed === undefined) this.#patterns.push(entry);
      else {
        const same = this.#fixed.get(pattern.fixed);
        if (same) same.push(entry);
        else this.#fixed.set(pattern.fixed, [entry]);
      }
    }
  }

  /**
   * The headers for a decoded path, in the order of the file, as far as they fit into 16 KiB: proxies refuse longer heads. Host in
   * lower case without its port.
   */
  of(path: string, host: string | undefined): (readonly [string, string])[] {
    const fixed = this.#fixed.get(trimmed(path)) ?? [];
    if (fixed.length === 0 && this.#patterns.length === 0) return [];
    const parts = partsOf(path);
    const matched = this.#patterns.filter(({ pattern }) => matchPattern(pattern, path, parts));
    const added: (readonly [string, string])[] = [];
    let bytes = 0;
    for (const { rule } of [...fixed, ...matched].sort((a, b) => a.index - b.index)) {
      if (rule.host !== undefined && rule.host !== host) continue;
      for (const value of rule.values) {
        bytes += value[0].length + value[1].length + 4;
        if (bytes > MAX_ADDED_BYTES) return added;
        added.push(value);
      }
    }
    return added;
  }
}
