import { matchesSequence } from './glob.js';
import { parentOf } from './path.js';

/** More of a file's lines are not looked at: each is tried on each name. */
const MAX_LINES = 1000;
const MAX_LINE_LENGTH = 1000;

/** A part of a pattern between slashes. */
type Segment = '**' | { readonly literal: string } | { readonly parts: readonly string[] };

interface Rule {
  /** Folder whose .gitignore holds it. */
  base: string;
  pattern: Segment[];
  /** It is about the name alone, wherever that is. */
  name?: Segment;
  negated: boolean;
  foldersOnly: boolean;
}

/**
 * Parts with wildcards that hold for one folder together. Each may be tried at each character of each name, so that many
 * times the longest name is what one path costs at most.
 */
const MAX_PARTS = 3_000;

interface Scope {
  ignored: boolean;
  rules: Rule[];
}

/**
 * What the .gitignore files of a tree say (gitignore(5)), told folder by folder, each after the one above it. Patterns
 * are matched without backtracking beyond the last wildcard, so that none can stall.
 */
export class IgnoreRules {
  private readonly scopes = new Map<string, Scope>();

  /** @param start folder that a search starts in: it, and those above it, count as not ignored */
  constructor(private readonly start: string) {}

  knows(folder: string): boolean {
    return this.scopes.has(folder);
  }

  /** Tells of a folder, with the text of its .gitignore, if it has one. */
  tell(folder: string, gitignore: string | null): void {
    const above = folder === '' ? undefined : this.scopes.get(parentOf(folder));
    const isAbove = folder === '' || folder === this.start || this.start.startsWith(`${folder}/`);
    const ignored = !isAbove && this.ignores(folder, true);
    const own = gitignore === null || ignored ? [] : parse(folder, gitignore);
    const inherited = above?.rules ?? [];
    // Most folders have none of their own.
    this.scopes.set(folder, { ignored, rules: own.length > 0 ? within([...inherited, ...own]) : inherited });
  }

  /** Whether something is ignored, whose folder was added. */
  ignores(path: string, isFolder: boolean): boolean {
    const scope = this.scopes.get(parentOf(path));
    if (!scope || scope.ignored) return scope?.ignored ?? false;
    const rule = scope.rules.findLast(rule => (isFolder || !rule.foldersOnly) && matches(rule, path));
    return rule !== undefined && !rule.negated;
  }
}

/** The first of them that do not take too long together. */
function within(rules: Rule[]): Rule[] {
  let parts = 0;
  return rules.filter(({ pattern }) => {
    for (const segment of pattern)
      if (segment !== '**') parts += 'parts' in segment ? segment.parts.length : 1;
    return parts <= MAX_PARTS;
  });
}

function matches({ base, pattern, name }: Rule, path: string): boolean {
  if (name) return matchesName(name, path.slice(path.lastIndexOf('/') + 1));
  const below = base === '' ? path : path.slice(base.length + 1);
  return matchesSequence(pattern, below.split('/'), part => part === '**', matchesName);
}

function matchesName(segment: Segment, name: string): boolean {
  if (segment === '**') return true;
  if ('literal' in segment) return segment.literal === name;
  return matchesSequence(segment.parts, [...name], part => part === '*', matchesCharacter);
}

function segmentOf(text: string): Segment {
  if (text === '**') return text;
  if (!/[\\[*?]/.test(text)) return { literal: text };
  return { parts: text.match(/\\.|\[[!^]?\]?[^\]]*\]|./gsu) ?? [] };
}

function matchesCharacter(part: string, character: string): boolean {
  if (part === '?') return true;
  if (part.startsWith('\\')) return part.slice(1) === character;
  if (part.length < 3 || !part.startsWith('[')) return part === character;
  const [, not, members] = /^\[([!^]?)(.*)\]$/s.exec(part) ?? [];
  return isMember([...(members ?? '')], character) !== (not !== '');
}

function isMember(members: string[], character: string): boolean {
  for (let at = 0; at < members.length; at++) {
    const [from = '', dash, to] = members.slice(at, at + 3);
    if (dash === '-' && to !== undefined) {
      if (from <= character && character <= to) return true;
      at += 2;
    } else if (from === character) return true;
  }
  return false;
}

function parse(base: string, gitignore: string): Rule[] {
  return (
    gitignore
      .split('\n', MAX_LINES)
      // Before anything is looked for in them: a line of blanks may be as long as the file.
      .filter(line => line.length <= MAX_LINE_LENGTH)
      .map(line => line.replace(/\r$/, '').replace(/(?<!\\) +$/, ''))
      .filter(line => line !== '' && !line.startsWith('#'))
      .flatMap(line => {
        const [, not, text = ''] = /^(!?)(.*)$/s.exec(line) ?? [];
        const foldersOnly = text.endsWith('/');
        const whole = foldersOnly ? text.slice(0, -1) : text;
        if (whole === '') return [];
        const pattern = whole.replace(/^\//, '').split('/');
        if (!whole.includes('/')) pattern.unshift('**');
        // `a/**` is what lies in a, not a itself.
        if (pattern.at(-1) === '**') pattern.push('*');
        const [first, second = ''] = pattern;
        const name =
          pattern.length === 2 && first === '**' && second !== '**' ? segmentOf(second) : undefined;
        return [{ base, pattern: pattern.map(segmentOf), name, negated: not === '!', foldersOnly }];
      })
  );
}
