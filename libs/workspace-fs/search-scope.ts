import type { Directory } from './directory.js';
import type { Entry } from './entry.js';
import { isWorkspaceError } from './errors.js';
import { Glob } from './glob.js';
import { OpenFile } from './open-file.js';
import { componentsOf, isBelow, isTemporaryName, joinPath, normalizePath, parentOf } from './path.js';
import { openRead } from './read.js';
import { IgnoreRules } from './search-ignore.js';
import type { Tree } from './tree.js';

/** Folders that hold what others wrote, git, or what the service keeps for runs. */
export const SKIPPED_FOLDERS: readonly string[] = ['.git', 'node_modules', '.atelier'];
const IGNORE_FILE = '.gitignore';
const MAX_IGNORE_BYTES = 256 * 1024;
const NOT_THERE = [
  'not_found',
  'symlink',
  'not_regular',
  'is_directory',
  'not_directory',
  'denied',
  'busy',
] as const;

export interface ScopeOptions {
  /** Which files, as described at `Glob`: by name, or with a slash by path from the root of the workspace. */
  glob?: string;
  /** Also what .gitignore leaves out, and .git, node_modules and .atelier; default false. What is searched in itself always is. */
  ignored?: boolean;
  /** Every .gitignore below the folder, where something found that out; absent: each folder is looked into for one. */
  ignoreFiles?: Iterable<string>;
}

/** What a search below a folder looks at. */
export class SearchScope {
  private readonly glob: Glob | undefined;
  private readonly rules: IgnoreRules | null;
  private readonly ignoreFiles: ReadonlySet<string> | null;

  constructor(
    private readonly tree: Tree,
    private readonly start: string,
    { glob, ignored = false, ignoreFiles }: ScopeOptions,
  ) {
    this.glob = glob === undefined ? undefined : new Glob(glob);
    this.ignoreFiles = ignoreFiles ? new Set(ignoreFiles) : null;
    this.rules = ignored ? null : new IgnoreRules(start);
  }

  /** Whether a walk goes into a folder. */
  enters({ path }: Entry): boolean {
    if (!this.rules) return true;
    return (
      !SKIPPED_FOLDERS.includes(path.slice(path.lastIndexOf('/') + 1)) && !this.rules.ignores(path, true)
    );
  }

  /** Whether something is wanted that lies in a folder that was arrived in. */
  holds({ path, type }: Pick<Entry, 'path' | 'type'>): boolean {
    if (this.glob && !this.glob.matches(path)) return false;
    return !this.rules?.ignores(path, type === 'directory');
  }

  /** As {@link holds}, for a path that something else says is there. */
  async holdsPath(path: string, type: Entry['type'] = 'file'): Promise<boolean> {
    if (!isPath(path) || !isBelow(path, this.start) || (this.glob && !this.glob.matches(path))) return false;
    const below = componentsOf(path).slice(componentsOf(this.start).length);
    if (!this.rules) return true;
    if (below.slice(0, -1).some(name => SKIPPED_FOLDERS.includes(name))) return false;
    await this.prepare(parentOf(path));
    return this.holds({ path, type });
  }

  /** Whether {@link holdsBelow} can be asked about a path. */
  isReadyFor(path: string): boolean {
    return !this.rules || this.rules.knows(parentOf(path));
  }

  async prepareFor(path: string): Promise<void> {
    if (isPath(path)) await this.prepare(parentOf(path));
  }

  /** As {@link holdsPath}, once the rules of its folder are known. */
  holdsBelow({ path, type }: Pick<Entry, 'path' | 'type'>): boolean {
    if (!isBelow(path, this.start) || isTemporaryName(path.slice(path.lastIndexOf('/') + 1))) return false;
    if (!this.isReadyFor(path)) return false;
    if (this.rules) {
      const below = this.start === '' ? path : path.slice(this.start.length + 1);
      const folders = below.split('/').slice(0, -1);
      if (folders.some(name => SKIPPED_FOLDERS.includes(name))) return false;
    }
    return this.holds({ path, type });
  }

  /** Learns the rules of a folder and of those above it. */
  async prepare(folder: string): Promise<void> {
    if (!this.rules || this.rules.knows(folder)) return;
    if (folder !== '') await this.prepare(parentOf(folder));
    const path = joinPath(folder, IGNORE_FILE);
    const text = this.mayBe(path) ? await textOf(() => openRead(this.tree, path)) : null;
    if (!this.rules.knows(folder)) this.rules.tell(folder, text);
  }

  /** Only what lies below the start was looked through for those files. */
  private mayBe(ignoreFile: string): boolean {
    return !this.ignoreFiles || this.ignoreFiles.has(ignoreFile) || !isBelow(ignoreFile, this.start);
  }

  /** Learns the rules of a folder whose parent's are known. */
  async arrive(folder: Directory): Promise<void> {
    if (!this.rules || this.rules.knows(folder.path)) return;
    this.rules.tell(folder.path, await textOf(() => OpenFile.open(folder, IGNORE_FILE)));
  }
}

function isPath(path: string): boolean {
  try {
    return normalizePath(path) === path;
  } catch (error) {
    if (isWorkspaceError(error, 'invalid_path')) return false;
    throw error;
  }
}

/** Null where there is no such file, or it is none of ours to read. */
async function textOf(open: () => Promise<OpenFile>): Promise<string | null> {
  let file: OpenFile | undefined;
  try {
    file = await open();
    return file.entry.size <= MAX_IGNORE_BYTES ? (await file.bytes()).toString('utf8') : null;
  } catch (error) {
    if (isWorkspaceError(error, ...NOT_THERE)) return null;
    throw error;
  } finally {
    await file?.close();
  }
}
