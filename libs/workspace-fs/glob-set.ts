import { belowRoot, expandBraces, matchesPath } from './glob.js';

interface Alternative {
  /** Of its pattern. */
  readonly index: number;
  readonly components: string[];
  /** How every path that it matches ends. */
  readonly suffix: string;
}

/** Many patterns (see {@link Glob}) at once: a path is compared only with those that its first folder and its end leave over. */
export class GlobSet {
  private readonly byFolder = new Map<string, Alternative[]>();
  private readonly anywhere: Alternative[] = [];
  private readonly byName: Alternative[] = [];

  constructor(patterns: readonly string[]) {
    for (const [index, pattern] of patterns.entries())
      for (const one of expandBraces(belowRoot(pattern))) this.add(index, one, !pattern.includes('/'));
  }

  /** The positions of the patterns that match, in no order, each once. */
  matching(path: string): Set<number> {
    const found = new Set<number>();
    const components = path.split('/');
    const name = components.slice(-1);
    collect(found, this.byName, path, name);
    collect(found, this.anywhere, path, components);
    collect(found, this.byFolder.get(components[0] ?? '') ?? [], path, components);
    return found;
  }

  private add(index: number, pattern: string, isName: boolean): void {
    const components = pattern.split('/');
    const last = components.at(-1) ?? '';
    // Below a folder, `**` stands for no component, too.
    const suffix =
      last === '**' ? '' : last.slice(Math.max(last.lastIndexOf('*'), last.lastIndexOf('?')) + 1);
    const alternative = { index, components, suffix };
    const [first = ''] = components;
    if (isName) this.byName.push(alternative);
    else if (/[*?]/.test(first)) this.anywhere.push(alternative);
    else {
      const below = this.byFolder.get(first) ?? [];
      below.push(alternative);
      this.byFolder.set(first, below);
    }
  }
}

function collect(
  found: Set<number>,
  alternatives: readonly Alternative[],
  path: string,
  subject: string[],
): void {
  for (const { index, components, suffix } of alternatives)
    if (path.endsWith(suffix) && !found.has(index) && matchesPath(components, subject)) found.add(index);
}
