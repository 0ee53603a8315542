import { isUtf8 } from 'node:buffer';
import { throwIfAborted } from './abort.js';
import { forEachOf } from './concurrency.js';
import type { Directory } from './directory.js';
import type { Entry } from './entry.js';
import { isWorkspaceError } from './errors.js';
import { Glob } from './glob.js';
import { type LineMatch, LiteralSearch } from './literal-search.js';
import { OpenFile } from './open-file.js';
import { stat } from './read.js';
import type { Tree } from './tree.js';
import { type Found, walk } from './walk.js';

const DEFAULT_LIMIT = 200;
const MAX_SEARCHED_BYTES = 8 * 1024 * 1024;
const BINARY_CHECK_BYTES = 8 * 1024;
const SKIPPED_FOLDERS = ['.git', 'node_modules'];
const OUT_OF_REACH = ['not_found', 'symlink', 'not_regular', 'is_directory', 'denied'] as const;

export interface SearchOptions {
  /** Literal text. */
  query: string;
  /** A folder to search below, or one file; default the whole workspace. */
  path?: string;
  /** Patterns would need an engine that no pattern can stall. */
  regex?: false;
  /** Default false. */
  case_sensitive?: boolean;
  /** Which files, as described at `Glob`: by name, or with a slash by path from the root of the workspace. */
  glob?: string;
  /** The most matches; default 200. */
  limit?: number;
  signal?: AbortSignal;
}

export interface SearchMatch extends LineMatch {
  path: string;
}

export interface SearchResult {
  /** In the order of paths, then of lines; one for each occurrence. */
  matches: SearchMatch[];
  /** Whether there may be more: the limit was reached, or a file was left out that was over 8 MiB or in use. */
  truncated: boolean;
  files_searched: number;
}

/** Searches text files; leaves out binary ones, links, and what is in .git or node_modules. */
export async function search(tree: Tree, path: string, options: SearchOptions): Promise<SearchResult> {
  const run = new SearchRun(options);
  if (options.query === '') return run.result;
  const start = await stat(tree, path);
  if (start.type === 'file') {
    await tree.inParent(path, (folder, name) => run.searchAll(folder, [{ name, entry: start }]));
    return run.result;
  }
  await tree.inFolder(path, async root => {
    for await (const { folder, found } of walk(root, { enter: isSearched })) {
      throwIfAborted(options.signal, path);
      await run.searchAll(folder, found);
      if (run.isFull) return;
    }
  });
  return run.result;
}

function isSearched(folder: Entry): boolean {
  return !SKIPPED_FOLDERS.includes(folder.path.slice(folder.path.lastIndexOf('/') + 1));
}

class SearchRun {
  readonly result: SearchResult = { matches: [], truncated: false, files_searched: 0 };
  private readonly literal: LiteralSearch;
  private readonly glob: Glob | undefined;
  private readonly limit: number;
  private readonly signal: AbortSignal | undefined;

  constructor(options: SearchOptions) {
    this.literal = new LiteralSearch(options.query, options.case_sensitive === true);
    this.glob = options.glob === undefined ? undefined : new Glob(options.glob);
    this.limit = Math.max(1, options.limit ?? DEFAULT_LIMIT);
    this.signal = options.signal;
  }

  /** More matches than asked for are known of. */
  get isFull(): boolean {
    return this.result.truncated && this.result.matches.length >= this.limit;
  }

  async searchAll(folder: Directory, found: Found[]): Promise<void> {
    const files = found.filter(({ entry }) => entry.type === 'file' && this.isWanted(entry));
    const matches = new Map<string, LineMatch[]>();
    await forEachOf(files, async ({ name, entry }) => {
      throwIfAborted(this.signal, entry.path);
      matches.set(entry.path, await this.searchFile(folder, name));
    });
    for (const { entry } of files) {
      for (const match of matches.get(entry.path) ?? []) this.add({ path: entry.path, ...match });
    }
  }

  private isWanted({ path }: Entry): boolean {
    return this.glob?.matches(path) ?? true;
  }

  private add(match: SearchMatch): void {
    if (this.result.matches.length < this.limit) this.result.matches.push(match);
    else this.result.truncated = true;
  }

  private async searchFile(folder: Directory, name: string): Promise<LineMatch[]> {
    const bytes = await this.bytesOf(folder, name);
    if (!bytes || bytes.subarray(0, BINARY_CHECK_BYTES).includes(0)) return [];
    this.result.files_searched++;
    if (!this.literal.mayMatch(bytes) || !isUtf8(bytes)) return [];
    return this.literal.matchesIn(bytes.toString('utf8'), this.limit + 1);
  }

  /** Null for what is too large, gone, replaced by something else, or out of the service's reach. */
  private async bytesOf(folder: Directory, name: string): Promise<Buffer | null> {
    let file: OpenFile | undefined;
    try {
      file = await OpenFile.open(folder, name);
      if (file.entry.size <= MAX_SEARCHED_BYTES) return await file.bytes();
      this.result.truncated = true;
      return null;
    } catch (error) {
      if (isWorkspaceError(error, 'busy')) this.result.truncated = true;
      else if (!isWorkspaceError(error, ...OUT_OF_REACH)) throw error;
      return null;
    } finally {
      await file?.close();
    }
  }
}
