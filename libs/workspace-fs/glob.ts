import { SEEN_AT } from './path.js';

/** More alternatives than a person writes: braces multiply. */
const MAX_ALTERNATIVES = 64;

/**
 * A file pattern: `*` and `?` within a name, `**` across folders, `{a,b}`. Everything else, brackets too, stands for
 * itself. What begins with `/workspace/`, as commands see it, is below the root. Without a slash it is matched against the name alone. Takes time proportional to pattern times path,
 * whatever the pattern.
 */
export class Glob {
  private readonly alternatives: string[][];
  private readonly nameOnly: boolean;

  constructor(pattern: string) {
    this.nameOnly = !pattern.includes('/');
    this.alternatives = expandBraces(pattern).map(one => belowRoot(one).split('/'));
  }

  matches(path: string): boolean {
    const components = path.split('/');
    const subject = this.nameOnly ? components.slice(-1) : components;
    return this.alternatives.some(pattern => matchesPath(pattern, subject));
  }
}

export function belowRoot(pattern: string): string {
  if (pattern.startsWith(`${SEEN_AT}/`)) return pattern.slice(SEEN_AT.length + 1);
  return pattern.replace(/^\.?\//, '');
}

export function matchesPath(pattern: string[], components: string[]): boolean {
  return matchesSequence(pattern, components, part => part === '**', matchesName);
}

function matchesName(pattern: string, name: string): boolean {
  const [head = '', tail, more] = pattern.includes('?') ? [] : pattern.split('*', 3);
  // Most names in patterns have one star or none.
  if (more === undefined && !pattern.includes('?'))
    return tail === undefined
      ? head === name
      : name.length >= head.length + tail.length && name.startsWith(head) && name.endsWith(tail);
  const same = (part: string, character: string) => part === '?' || part === character;
  return matchesSequence([...pattern], [...name], part => part === '*', same);
}

/** Wildcards by going back to the last of them only, which is enough and cannot explode. */
export function matchesSequence<Part>(
  pattern: readonly Part[],
  subject: readonly string[],
  isWildcard: (part: Part) => boolean,
  matchesOne: (part: Part, item: string) => boolean,
): boolean {
  let at = 0;
  let retryPattern = -1;
  let retrySubject = 0;
  for (let position = 0; position < subject.length; ) {
    const part = pattern[at];
    if (part !== undefined && isWildcard(part)) {
      retryPattern = ++at;
      retrySubject = position;
    } else if (part !== undefined && matchesOne(part, subject[position] ?? '')) {
      at++;
      position++;
    } else if (retryPattern !== -1) {
      at = retryPattern;
      position = ++retrySubject;
    } else return false;
  }
  return pattern.slice(at).every(isWildcard);
}

export function expandBraces(pattern: string): string[] {
  let expanded = [''];
  for (const part of pattern.split(/(\{[^{}]*,[^{}]*\})/)) {
    const choices = /^\{.*,.*\}$/s.test(part) ? part.slice(1, -1).split(',') : [part];
    if (expanded.length * choices.length > MAX_ALTERNATIVES) return [pattern];
    expanded = expanded.flatMap(start => choices.map(choice => start + choice));
  }
  return expanded;
}
