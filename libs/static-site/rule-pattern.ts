/** The path of a rule, compiled. Matching takes time in proportion to the path's length: nothing of it is an expression. */
export interface RulePattern {
  /** For paths without placeholders: the only one that it matches, without the slash at its end. */
  fixed?: string;
  parts: string[];
  hasSplat: boolean;
  /** `/images/*.png`: what is before and after the one star. */
  ends?: [string, string];
}

/** What the placeholders stood for: by name, and `splat`. */
export type Captures = ReadonlyMap<string, string>;

/** In one path. */
const MAX_PLACEHOLDERS = 20;

const PLACEHOLDER = /^:[A-Za-z_][A-Za-z0-9_]{0,63}$/;

export const isPlaceholder = (part: string): boolean => PLACEHOLDER.test(part);

const NOTHING: Captures = new Map();

/** Without the slash at its end: rules do not tell `/docs/` from `/docs`. */
export const trimmed = (path: string): string =>
  path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;

/** Compiles a decoded path; `starAnywhere` for rules that match names such as `/*.js`. A string says what is wrong with it. */
export function compilePattern(path: string, starAnywhere: boolean): RulePattern | string {
  if (!path.startsWith('/')) return 'A path begins with /.';
  const stars = path.split('*').length - 1;
  const parts = trimmed(path).slice(1).split('/');
  if (stars > 1) return 'A path can have one * only.';
  const hasSplat = parts.at(-1) === '*';
  const names = parts.filter(isPlaceholder);
  if (names.length > MAX_PLACEHOLDERS) return `A path can have ${MAX_PLACEHOLDERS} placeholders at most.`;
  if (new Set(names).size < names.length) return 'Two placeholders have the same name.';
  if (stars === 1 && !hasSplat) {
    if (!starAnywhere) return 'A * stands at the end only, after a slash: /old/*.';
    if (names.length > 0) return 'A path with a * within it can have no placeholders.';
    const star = path.indexOf('*');
    return { parts: [], hasSplat: false, ends: [path.slice(0, star), path.slice(star + 1)] };
  }
  if (!hasSplat && names.length === 0) return { fixed: trimmed(path), parts: [], hasSplat: false };
  return { parts: hasSplat ? parts.slice(0, -1) : parts, hasSplat };
}

/** The captures of a path that matches; undefined where it does not. `parts` are those of the {@link trimmed} path. */
export function matchPattern(
  pattern: RulePattern,
  path: string,
  parts: readonly string[],
): Captures | undefined {
  if (pattern.fixed !== undefined) return pattern.fixed === trimmed(path) ? NOTHING : undefined;
  if (pattern.ends) {
    const [before, after] = pattern.ends;
    const matches =
      path.length >= before.length + after.length && path.startsWith(before) && path.endsWith(after);
    return matches ? NOTHING : undefined;
  }
  const count = pattern.parts.length;
  if (pattern.hasSplat ? parts.length < count : parts.length !== count) return undefined;
  const captures = new Map<string, string>();
  for (const [index, expected] of pattern.parts.entries()) {
    const part = parts[index] ?? '';
    if (isPlaceholder(expected)) {
      if (part === '') return undefined;
      captures.set(expected.slice(1), part);
    } else if (part !== expected) return undefined;
  }
  if (pattern.hasSplat) captures.set('splat', parts.slice(count).join('/'));
  return captures;
}

/** The parts of a path for {@link matchPattern}: none for `/`. */
export function partsOf(path: string): string[] {
  const whole = trimmed(path);
  return whole === '/' ? [] : whole.slice(1).split('/');
}

/** A rule and where it stands in its file. */
export interface IndexedRule<Rule> {
  readonly index: number;
  readonly rule: Rule;
  readonly pattern: RulePattern;
}

/** The rules of a file, by the paths they are for; both lists are in the order of the file. */
export class RuleIndex<Rule extends { readonly path: string }> {
  readonly patterns: IndexedRule<Rule>[] = [];
  readonly #fixed = new Map<string, IndexedRule<Rule>[]>();

  constructor(rules: readonly Rule[], starAnywhere: boolean) {
    for (const [index, rule] of rules.entries()) {
      const pattern = compilePattern(rule.path, starAnywhere);
      if (typeof pattern === 'string') continue;
      this.#listFor(pattern).push({ index, rule, pattern });
    }
  }

  /** The rules for this one path. */
  fixed(path: string): readonly IndexedRule<Rule>[] {
    return this.#fixed.get(trimmed(path)) ?? [];
  }

  #listFor({ fixed }: RulePattern): IndexedRule<Rule>[] {
    if (fixed === undefined) return this.patterns;
    const same = this.#fixed.get(fixed) ?? [];
    this.#fixed.set(fixed, same);
    return same;
  }
}
