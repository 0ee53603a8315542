import { chmod, chown, mkdir } from 'node:fs/promises';
import { changeTogether, type FileChange, type TogetherOptions } from './change-together.js';
import { type Copied, type CopyOptions, copy } from './copy.js';
import { copyFrom, type Outcome } from './copy-from.js';
import type { Draft } from './draft.js';
import { type Edited, type EditOptions, edit } from './edit.js';
import type { Entry } from './entry.js';
import { isWorkspaceError } from './errors.js';
import { type Finding, type FindOptions, find } from './find.js';
import { type Fingerprint, fingerprint } from './fingerprint.js';
import { flush } from './flush.js';
import { type Listing, type ListOptions, list } from './list.js';
import { makeDirectory } from './make-directory.js';
import { move } from './move.js';
import { NewFiles } from './new-files.js';
import { inFormThere } from './normal-form.js';
import type { OpenFile } from './open-file.js';
import { type Overview, type OverviewOptions, overview } from './overview.js';
import { parentOf, workspacePath } from './path.js';
import { findIn, openRead, readBytes, revision, stat } from './read.js';
import { readEach } from './read-each.js';
import { type ReadTextOptions, readText, type TextRead } from './read-text.js';
import { remove } from './remove.js';
import { type SearchOptions, type SearchResult, search } from './search.js';
import { type NameSearchOptions, type NameSearchResult, searchNames } from './search-names.js';
import { type SweepOptions, sweepTemporaries } from './temporaries.js';
import { Tree, type WorkspaceFsOptions } from './tree.js';
import { type FileSource, type WriteOptions, type Written, write } from './write.js';

const MAX_READ_BYTES = 64 * 1024 * 1024;

/**
 * The files of one workspace, a directory that hostile code may write to at the same time. Nothing reached through
 * it lies outside. Holds no descriptor between calls. Every method takes any spelling that `workspacePath` accepts
 * and throws WorkspaceFsError for what a caller can do something about.
 */
export class WorkspaceFs {
  private readonly tree: Tree;

  /** Makes the root (a trusted path) where it is missing, open to its owner alone. */
  static async create(root: string, options: WorkspaceFsOptions): Promise<WorkspaceFs> {
    await mkdir(root, { recursive: true });
    if (options.owner) await chown(root, options.owner.uid, options.owner.gid);
    await chmod(root, 0o700);
    return new WorkspaceFs(root, options);
  }

  constructor(root: string, options: WorkspaceFsOptions) {
    this.tree = new Tree(root, options);
  }

  async list(path: string, options: ListOptions = {}): Promise<Listing> {
    return list(this.tree, workspacePath(path), options);
  }

  /** All that is below a folder, in the order of {@link list}. */
  async listAll(path: string): Promise<Entry[]> {
    const all: Entry[] = [];
    let after: string | undefined;
    do {
      const { entries, next } = await this.list(path, { recursive: true, after });
      for (const entry of entries) all.push(entry);
      after = next ?? undefined;
    } while (after !== undefined);
    return all;
  }

  /**
   * A path as it is there: where nothing has its name, the only other that differs in Unicode normalization alone. As given
   * where neither is there.
   */
  async existing(path: string): Promise<string> {
    const given = workspacePath(path);
    const there = await inFormThere(this.tree, given);
    return there.isThere ? there.path : given;
  }

  /** As {@link existing}, of what is to be written: what is not there is named in composed form (NFC). */
  async writable(path: string): Promise<string> {
    return (await inFormThere(this.tree, workspacePath(path))).path;
  }

  /** Of a link itself, never of what it points to. */
  async stat(path: string): Promise<Entry> {
    return stat(this.tree, workspacePath(path));
  }

  /** As {@link stat}; null where nothing can be: also below a file or a link. */
  async find(path: string): Promise<Entry | null> {
    try {
      return await findIn(this.tree, workspacePath(path));
    } catch (error) {
      if (isWorkspaceError(error, 'not_found', 'not_directory', 'symlink')) return null;
      throw error;
    }
  }

  /** Whether nothing is at a path; throws where nothing could be put there. */
  async isFree(path: string): Promise<boolean> {
    try {
      await this.stat(path);
      return false;
    } catch (error) {
      if (isWorkspaceError(error, 'not_found')) return true;
      throw error;
    }
  }

  /** How many files and folders a write at a path creates: itself and missing folders above. */
  async countMissing(path: string): Promise<number> {
    let missing = 0;
    for (let at = workspacePath(path); at !== '' && !(await this.find(at)); at = parentOf(at)) missing++;
    return missing;
  }

  /**
   * Begins with the entity tag, and changes with everything that is done to the file or its inode: a program that writes to a file
   * and sets its times back keeps its entity tag, and not this. null: no file.
   */
  async revision(path: string): Promise<string | null> {
    return revision(this.tree, workspacePath(path));
  }

  /** Tells whether anything at these paths is other than it was; at most some hundred paths. */
  async fingerprint(paths: readonly string[]): Promise<Fingerprint> {
    return fingerprint(this.tree.root, paths.map(workspacePath));
  }

  /** The caller closes it, or reads its stream to the end, or destroys the stream. */
  async openRead(path: string): Promise<OpenFile> {
    return openRead(this.tree, workspacePath(path));
  }

  /**
   * Opens files, a few at once, and has them visited: one that changed meanwhile again, and after a few tries its error is `busy`.
   * A file is open while it is visited. Each has its outcome, in the order of `paths`: it fails for itself.
   */
  async readEach<T>(
    paths: readonly string[],
    visit: (file: OpenFile) => Promise<T>,
  ): Promise<PromiseSettledResult<T>[]> {
    return readEach(this.tree, paths.map(workspacePath), visit);
  }

  async readText(path: string, options: ReadTextOptions = {}): Promise<TextRead> {
    return readText(this.tree, workspacePath(path), options);
  }

  /** The whole file, of at most `max` bytes: default `maxFileBytes`, or 64 MiB if that is less. */
  async readBytes(path: string, max?: number): Promise<Buffer> {
    const most = max ?? Math.min(this.tree.options.maxFileBytes, MAX_READ_BYTES);
    return readBytes(this.tree, workspacePath(path), most);
  }

  /** Writes a whole file and the folders it needs: durable when it returns, and never to be seen half written. */
  async write(path: string, source: FileSource, options: WriteOptions = {}): Promise<Written> {
    return write(this.tree, workspacePath(path), source, options);
  }

  /**
   * Runs `work`, which adds new files; `onPlaced` is told of each that can be seen. Durable when it returns; where it fails,
   * some are written and the others leave nothing.
   */
  async writeNew(
    work: (add: (path: string, source: AsyncIterable<Uint8Array>) => Promise<void>) => Promise<void>,
    onPlaced: (entry: Entry) => void,
  ): Promise<void> {
    const files = new NewFiles(this.tree, () => this.flush(), onPlaced);
    try {
      await work((path, source) => files.add(workspacePath(path), source));
      await files.finish();
    } catch (error) {
      await files.abandon(error);
      throw error;
    }
  }

  /** Replaces text that occurs exactly once, or all of it with `replace_all`. */
  async edit(path: string, options: EditOptions): Promise<Edited> {
    return edit(this.tree, workspacePath(path), options);
  }

  /** Changes several text files together, all or none: `plan` says what becomes of those at `paths`, which are normalized. */
  async changeTogether<T>(
    paths: readonly string[],
    plan: (draft: Draft) => Promise<T>,
    options: TogetherOptions = {},
  ): Promise<{ result: T; changes: FileChange[] }> {
    return changeTogether(this.tree, paths.map(workspacePath), plan, options);
  }

  /** Makes a folder and those it needs; one that exists is fine. */
  async mkdir(path: string): Promise<Entry> {
    return makeDirectory(this.tree, workspacePath(path));
  }

  async move(from: string, to: string, options: { overwrite?: boolean } = {}): Promise<Entry> {
    return move(this.tree, workspacePath(from), workspacePath(to), options.overwrite === true);
  }

  async copy(from: string, to: string, options: CopyOptions = {}): Promise<Copied> {
    return copy(this.tree, workspacePath(from), workspacePath(to), options);
  }

  /**
   * Copies files from another workspace to the same paths; one that is there with its size and time is left alone. Each has
   * its outcome, in the order of `paths`: it fails for itself. They are durable after a {@link flush}.
   */
  async copyFrom(source: WorkspaceFs, paths: readonly string[]): Promise<Outcome[]> {
    return copyFrom(this.tree, source.tree, paths.map(workspacePath));
  }

  /** Makes all that is in it durable. */
  async flush(): Promise<void> {
    return flush(this.tree);
  }

  async remove(path: string, options: { recursive?: boolean } = {}): Promise<void> {
    return remove(this.tree, workspacePath(path), options.recursive === true);
  }

  /** Finds text in files, below a folder (`path`; default the whole workspace) or in one file. */
  async search(options: SearchOptions & { path?: string }): Promise<SearchResult> {
    return search(this.tree, workspacePath(options.path ?? ''), options);
  }

  /** Finds what a folder (`path`) holds by name or pattern, kind and time. */
  async findBelow(options: FindOptions & { path?: string }): Promise<Finding> {
    return find(this.tree, workspacePath(options.path ?? ''), options);
  }

  /** What a folder (`path`) holds, as far as there is room to show it. */
  async overview(options: OverviewOptions & { path?: string }): Promise<Overview> {
    return overview(this.tree, workspacePath(options.path ?? ''), options);
  }

  /** Finds what a folder (`path`) holds by name. */
  async searchNames(options: NameSearchOptions & { path?: string }): Promise<NameSearchResult> {
    return searchNames(this.tree, workspacePath(options.path ?? ''), options);
  }

  /** Removes what a crash left behind: temporaries untouched for a day, or those of one process. Returns how many. */
  async sweepTemporaries(options: SweepOptions = {}): Promise<number> {
    return sweepTemporaries(this.tree, options);
  }
}
