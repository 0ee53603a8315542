import { isUtf8 } from 'node:buffer';
import { throwIfAborted } from './abort.js';
import { forEachOf } from './concurrency.js';
import type { Directory } from './directory.js';
import { byteOrderKey } from './directory-name.js';
import type { Entry } from './entry.js';
import { isWorkspaceError } from './errors.js';
import { OpenFile } from './open-file.js';
import { parentOf } from './path.js';
import { openRead, stat } from './read.js';
import { type LineMatch, linesWith } from './search-lines.js';
import { partsOf } from './search-parts.js';
import { type PatternOptions, patternOf, type SearchPattern } from './search-pattern.js';
import { type ScopeOptions, SearchScope } from './search-scope.js';
import type { Tree } from './tree.js';
import { Turn } from './turn.js';
import { walk } from './walk.js';

const DEFAULT_LIMIT = 200;
const MAX_SEARCHED_BYTES = 8 * 1024 * 1024;
/** Of a file that is searched by itself. */
const MAX_NAMED_BYTES = 1024 * 1024 * 1024;
const MAX_LEFT_OUT = 20;
const BINARY_CHECK_BYTES = 8 * 1024;
const FILES_AT_ONCE = 64;
const OUT_OF_REACH = [
  'not_found',
  'symlink',
  'not_regular',
  'is_directory',
  'not_directory',
  'denied',
  'invalid_path',
] as const;

export interface SearchOptions extends PatternOptions, ScopeOptions {
  /** Only what comes after this line. */
  after?: { path: string; line: number };
  /** The most lines; default 200. */
  limit?: number;
  /**
   * The only files worth looking into, as something that may be wrong found out; absent: every file is looked into.
   * What is left out here is not found; all else is checked.
   */
  candidates?: Iterable<string>;
  /** The candidates are looked into in the order that they come in, and `after` does not count; default false. */
  inOrder?: boolean;
  /** So many lines before and after each that matches; default 0. */
  context?: number;
  /** Of each file the first line that matches, with how many do; default false. */
  filesOnly?: boolean;
  signal?: AbortSignal;
}

export interface SearchMatch extends LineMatch {
  path: string;
  /** How many lines of the file match; where only files are asked for. */
  count?: number;
}

export interface SearchResult {
  /** In the order of paths, or that of the candidates, then of lines. */
  matches: SearchMatch[];
  /** Whether there may be more: the limit was reached, or a file was left out that was over 8 MiB or in use. */
  truncated: boolean;
  /** Whether the limit was reached: `after` the last match, there is more. */
  more: boolean;
  files_searched: number;
  /** Files that were left out as they were too large, the first of them; each can be searched by itself. */
  left_out: string[];
}

/** Searches text files; leaves out binary ones and links. */
export async function search(tree: Tree, path: string, options: SearchOptions): Promise<SearchResult> {
  const run = new SearchRun(tree, path, options);
  if (options.query === '') return run.result;
  const start = await stat(tree, path);
  if (start.type === 'file') await run.searchNamed(path, start.size);
  else if (options.candidates) await run.searchAmong(options.candidates);
  else await run.searchBelow();
  return run.result;
}

type FileMatch = Omit<SearchMatch, 'path'>;

class SearchRun {
  readonly result: SearchResult = {
    matches: [],
    truncated: false,
    more: false,
    files_searched: 0,
    left_out: [],
  };
  private readonly pattern: SearchPattern;
  private readonly scope: SearchScope;
  private readonly limit: number;
  private readonly turn: Turn;

  constructor(
    private readonly tree: Tree,
    private readonly start: string,
    private readonly options: SearchOptions,
  ) {
    this.pattern = patternOf(options);
    this.scope = new SearchScope(tree, start, options);
    this.limit = Math.max(1, options.limit ?? DEFAULT_LIMIT);
    this.turn = new Turn(options.signal, start);
  }

  async searchAmong(candidates: Iterable<string>): Promise<void> {
    const paths = this.options.inOrder ? [...candidates] : this.inPathOrder(candidates);
    for (let at = 0; at < paths.length && !this.result.more; at += FILES_AT_ONCE) {
      const some = paths.slice(at, at + FILES_AT_ONCE);
      const wanted = new Set<string>();
      await forEachOf(some, async path => {
        if (await this.scope.holdsPath(path)) wanted.add(path);
      });
      await this.searchAll(
        some.filter(path => wanted.has(path)),
        path => openRead(this.tree, path),
      );
    }
  }

  async searchBelow(): Promise<void> {
    const { after } = this.options;
    if (after && (await this.scope.holdsPath(after.path)))
      await this.searchAll([after.path], path => openRead(this.tree, path));
    await this.scope.prepare(parentOf(this.start));
    const arrive = (folder: Directory) => this.scope.arrive(folder);
    const enter = (entry: Entry) => this.scope.enters(entry);
    await this.tree.inFolder(this.start, async root => {
      for await (const { folder, found } of walk(root, { arrive, enter, after: after?.path })) {
        const files = found.filter(({ entry }) => entry.type === 'file' && this.scope.holds(entry));
        const names = new Map(files.map(({ name, entry }) => [entry.path, name]));
        await this.searchAll([...names.keys()], path => OpenFile.open(folder, names.get(path) ?? ''));
        if (this.result.more) return;
      }
    });
  }

  async searchAll(paths: string[], open: (path: string) => Promise<OpenFile>): Promise<void> {
    for (let at = 0; at < paths.length && !this.result.more; at += FILES_AT_ONCE) {
      const some = paths.slice(at, at + FILES_AT_ONCE);
      const found = new Map<string, FileMatch[]>();
      await forEachOf(some, async path => {
        throwIfAborted(this.options.signal, path);
        found.set(path, await this.searchFile(path, open));
      });
      for (const path of some) for (const match of found.get(path) ?? []) this.add({ path, ...match });
    }
  }

  private inPathOrder(candidates: Iterable<string>): string[] {
    const keyed = [...candidates].map(path => ({ path, key: byteOrderKey(path) }));
    keyed.sort((a, b) => (a.key < b.key ? -1 : 1));
    return keyed.filter(({ key }) => this.isNotBefore(key)).map(({ path }) => path);
  }

  private add(match: SearchMatch): void {
    if (this.result.matches.length < this.limit) this.result.matches.push(match);
    else this.result.truncated = this.result.more = true;
  }

  private isNotBefore(key: string): boolean {
    const { after } = this.options;
    return after === undefined || key >= byteOrderKey(after.path);
  }

  /** A file by itself, which may be large. */
  async searchNamed(path: string, size: number): Promise<void> {
    const open = (file: string) => openRead(this.tree, file);
    if (size <= MAX_SEARCHED_BYTES || size > MAX_NAMED_BYTES) return this.searchAll([path], open);
    for (const match of await this.searchParts(path, open)) this.add({ path, ...match });
  }

  private async searchFile(path: string, open: (path: string) => Promise<OpenFile>): Promise<FileMatch[]> {
    const found = new FoundInFile();
    await this.reading(path, open, async file => {
      if (file.entry.size > MAX_SEARCHED_BYTES) this.leaveOut(path);
      else await this.searchPart(path, { bytes: await file.bytes(), line: 1 }, found);
    });
    return found.all(this.options.filesOnly);
  }

  private async searchParts(path: string, open: (path: string) => Promise<OpenFile>): Promise<FileMatch[]> {
    const found = new FoundInFile();
    await this.reading(path, open, async file => {
      for await (const part of partsOf(file)) {
        await this.searchPart(path, part, found);
        if (found.isBinary || found.matches.length > this.limit) return;
        await this.turn.pass();
      }
    });
    return found.all(this.options.filesOnly);
  }

  private async searchPart(
    path: string,
    { bytes, line }: { bytes: Buffer; line: number },
    found: FoundInFile,
  ): Promise<void> {
    if (!found.isBegun) {
      found.isBegun = true;
      found.isBinary = bytes.subarray(0, BINARY_CHECK_BYTES).includes(0);
      if (!found.isBinary) this.result.files_searched++;
    }
    if (found.isBinary) return;
    if (!this.pattern.mayMatch(bytes) || !isUtf8(bytes)) return;
    const text = bytes.toString('utf8');
    const { after, context, filesOnly } = this.options;
    if (filesOnly && after?.path === path) return;
    const from = after?.path === path ? after.line : 0;
    for (const match of linesWith(text, this.pattern.spans(text), context)) {
      await this.turn.pass();
      if (!match || match.line + line - 1 <= from) continue;
      found.count++;
      if (!filesOnly || found.count === 1) found.matches.push({ ...match, line: match.line + line - 1 });
      if (found.matches.length > this.limit) return;
    }
  }

  private leaveOut(path: string): void {
    this.result.truncated = true;
    if (this.result.left_out.length < MAX_LEFT_OUT) this.result.left_out.push(path);
  }

  /** Nothing is done with what is gone, replaced by something else, in use, or out of the service's reach. */
  private async reading(
    path: string,
    open: (path: string) => Promise<OpenFile>,
    work: (file: OpenFile) => Promise<void>,
  ): Promise<void> {
    let file: OpenFile | undefined;
    try {
      file = await open(path);
      await work(file);
    } catch (error) {
      if (isWorkspaceError(error, 'busy')) this.result.truncated = true;
      else if (!isWorkspaceError(error, ...OUT_OF_REACH)) throw error;
    } finally {
      await file?.close();
    }
  }
}

/** What was found in one file so far. */
class FoundInFile {
  readonly matches: FileMatch[] = [];
  /** Lines that match. */
  count = 0;
  isBegun = false;
  isBinary = false;

  all(filesOnly = false): FileMatch[] {
    return filesOnly ? this.matches.map(match => ({ ...match, count: this.count })) : this.matches;
  }
}
