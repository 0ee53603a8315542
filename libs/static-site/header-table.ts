import type { HeaderRule } from './header-rules.js';
import { matchPattern, partsOf, RuleIndex } from './rule-pattern.js';

/** Bytes of headers that rules add to an answer. */
const MAX_ADDED_BYTES = 16 * 1024;

/** The blocks of `_headers`, by the paths they are for. All that fit count. */
export class HeaderTable {
  /** What a path gets depends on the host. */
  readonly hasHosts: boolean;
  readonly #rules: RuleIndex<HeaderRule>;

  constructor(rules: readonly HeaderRule[]) {
    this.hasHosts = rules.some(({ host }) => host !== undefined);
    this.#rules = new RuleIndex(rules, true);
  }

  /**
   * The headers for a decoded path, in the order of the file, as far as they fit into 16 KiB: proxies refuse longer heads. Host in
   * lower case without its port.
   */
  of(path: string, host: string | undefined): (readonly [string, string])[] {
    const fixed = this.#rules.fixed(path);
    if (fixed.length === 0 && this.#rules.patterns.length === 0) return [];
    const parts = partsOf(path);
    const matched = this.#rules.patterns.filter(({ pattern }) => matchPattern(pattern, path, parts));
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
