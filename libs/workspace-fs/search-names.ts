import { throwIfAborted } from './abort.js';
import type { Directory } from './directory.js';
import { byteOrderKey } from './directory-name.js';
import type { Entry, EntryType } from './entry.js';
import { Foremost } from './foremost.js';
import { parentOf } from './path.js';
import { type PatternOptions, patternOf, type SearchPattern, type Span } from './search-pattern.js';
import { type ScopeOptions, SearchScope } from './search-scope.js';
import type { Tree } from './tree.js';
import { Turn } from './turn.js';
import { walk } from './walk.js';

const DEFAULT_LIMIT = 200;

export interface NameSearchOptions extends PatternOptions, ScopeOptions {
  /** Only what comes after this path. */
  after?: string;
  /** The most paths; default 200. */
  limit?: number;
  /** Everything below the folder, as something that may be wrong found out; absent: the folders are walked. */
  candidates?: Iterable<Named>;
  signal?: AbortSignal;
}

type Named = Pick<Entry, 'path' | 'type'>;

export interface NameMatch {
  path: string;
  type: EntryType;
  /** Where the path matches: starts and ends (exclusive), in UTF-16 units. */
  ranges: Span[];
}

export interface NameSearchResult {
  /** In the order of paths. */
  matches: NameMatch[];
  more: boolean;
}

/** Finds files and folders by name; by path below the root where the query holds a slash. */
export async function searchNames(
  tree: Tree,
  path: string,
  options: NameSearchOptions,
): Promise<NameSearchResult> {
  const run = new NameSearch(options);
  if (options.query === '') return run.result;
  const scope = new SearchScope(tree, path, options);
  if (options.candidates) await run.among(options.candidates, scope);
  else await run.below(tree, path, scope);
  return run.result;
}

class NameSearch {
  readonly result: NameSearchResult = { matches: [], more: false };
  private readonly pattern: SearchPattern;
  private readonly limit: number;

  constructor(private readonly options: NameSearchOptions) {
    this.pattern = patternOf(options);
    this.limit = Math.max(1, options.limit ?? DEFAULT_LIMIT);
  }

  async among(candidates: Iterable<Named>, scope: SearchScope): Promise<void> {
    const after = this.options.after === undefined ? '' : byteOrderKey(this.options.after);
    const turn = new Turn(this.options.signal, '');
    const first = new Foremost<{ match: NameMatch; key: string }>(this.limit + 1, (a, b) =>
      a.key < b.key ? -1 : 1,
    );
    for (const named of candidates) {
      await turn.pass();
      for (const match of this.matchOf(named)) {
        const key = byteOrderKey(match.path);
        if (key > after && (await scope.holdsPath(match.path, match.type))) first.add({ match, key });
      }
    }
    for (const { match } of first.all()) this.add(match);
  }

  async below(tree: Tree, start: string, scope: SearchScope): Promise<void> {
    await scope.prepare(parentOf(start));
    const arrive = (folder: Directory) => scope.arrive(folder);
    const enter = (entry: Entry) => scope.enters(entry);
    await tree.inFolder(start, async root => {
      for await (const { found } of walk(root, { arrive, enter, after: this.options.after })) {
        throwIfAborted(this.options.signal, start);
        for (const { entry } of found)
          if (scope.holds(entry)) for (const match of this.matchOf(entry)) this.add(match);
        if (this.result.more) return;
      }
    });
  }

  private matchOf({ path, type }: Named): NameMatch[] {
    const from = this.options.query.includes('/') ? 0 : path.lastIndexOf('/') + 1;
    const ranges: Span[] = [];
    for (const span of this.pattern.spans(path.slice(from)))
      if (span) ranges.push([span[0] + from, span[1] + from]);
    return ranges.length > 0 ? [{ path, type, ranges }] : [];
  }

  private add(match: NameMatch): void {
    if (this.result.matches.length < this.limit) this.result.matches.push(match);
    else this.result.more = true;
  }
}
