import { type BigIntStats, closeSync, constants, fstatSync, fsync, openSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { promisify } from 'node:util';
import { Descriptor } from './descriptor.js';
import { type DirectoryName, nameFromBytes } from './directory-name.js';
import { asWorkspaceError, isWorkspaceError, WorkspaceFsError } from './errors.js';
import { lstatAll } from './lstat-all.js';
import { isTemporaryName, joinPath } from './path.js';
import * as system from './system-calls.js';

/**
 * How names below an open folder are reached. `descriptors` (Linux) goes through /proc/self/fd and cannot be led
 * astray by folders that are swapped; `paths` (elsewhere) has a window between check and use.
 */
export type Addressing = 'descriptors' | 'paths';

/** A name in a folder: text, or bytes where it is not UTF-8. */
export type Name = string | Buffer;

const OPEN_DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const OPEN_FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
const CREATE_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
// Linux' O_PATH, which Node does not name: a descriptor that only refers, and needs no permission.
const O_PATH = 0o10000000;

/** A folder of a few hundred files, if its size says anything: where it does not, it is 0 or their number. */
const SMALL_FOLDER_BYTES = 16 * 1024;

const flush = promisify(fsync);

/**
 * An open folder of a workspace. Everything in it is reached through its descriptor, one name at a time, and no
 * symbolic link is ever followed. Errors name the workspace-relative path.
 *
 * Most of it is done at once: what the kernel has in memory anyway costs a tenth of the way through Node's thread pool, and
 * there are several such things to do for each file.
 */
export class Directory {
  private inFlight = 0;
  private closing: Promise<void> | undefined;
  private whenIdle: (() => void) | undefined;

  private constructor(
    private readonly fd: number,
    readonly path: string,
    private readonly base: string,
    private readonly addressing: Addressing,
  ) {}

  /** Opens a root, whose own path is trusted and may hold links. */
  static async openRoot(root: string, addressing: Addressing): Promise<Directory> {
    try {
      const fd = openSync(root, constants.O_RDONLY | constants.O_DIRECTORY);
      return Directory.wrap(fd, '', `${root}/`, addressing);
    } catch (error) {
      throw asWorkspaceError(error, '');
    }
  }

  private static wrap(fd: number, path: string, plain: string, addressing: Addressing): Directory {
    const base = addressing === 'descriptors' ? `/proc/self/fd/${fd}/` : plain;
    return new Directory(fd, path, base, addressing);
  }

  /** Opens a folder in this one; the caller closes it. `shownAs` is the path that its errors name. */
  async directory(name: Name, shownAs = this.pathOf(name)): Promise<Directory> {
    try {
      const fd = await this.use(name, async path => openSync(path, OPEN_DIRECTORY));
      return Directory.wrap(fd, shownAs, `${this.base}${name}/`, this.addressing);
    } catch (error) {
      // The kernel says ENOTDIR for a link as well; the message should not.
      if (isWorkspaceError(error, 'not_directory') && (await this.find(name))?.isSymbolicLink()) {
        throw new WorkspaceFsError('symlink', this.pathOf(name));
      }
      throw error;
    }
  }

  /** Opens a regular file for reading; anything else is refused without blocking. The caller closes it. */
  async descriptor(name: string): Promise<Descriptor> {
    const descriptor = await this.use(name, path => Descriptor.open(path, OPEN_FILE));
    try {
      this.refuseUnlessFile(name, descriptor.stats);
      return descriptor;
    } catch (error) {
      await descriptor.close();
      throw error;
    }
  }

  /** Makes a file that did not exist, readable by the service alone; the caller closes the descriptor. */
  createFile(name: string, shownAs = this.pathOf(name)): Promise<number> {
    return this.use(name, path => system.openDescriptor(path, CREATE_FILE, 0o600), shownAs);
  }

  makeDirectory(name: string): Promise<void> {
    return this.use(name, path => system.makeDirectory(path, 0o700));
  }

  async lstat(name: Name): Promise<BigIntStats> {
    const found = await this.find(name);
    if (!found) throw new WorkspaceFsError('not_found', this.pathOf(name));
    return found;
  }

  find(name: Name): Promise<BigIntStats | null> {
    return this.use(name, system.look);
  }

  /** What has these names now; null for what is gone or out of reach. One promise for all, as there may be many. */
  findAll(names: string[]): Promise<(BigIntStats | null)[]> {
    return this.use('', base => lstatAll(names.map(name => `${base}${name}`)));
  }

  /** rename(2): replaces a file, or an empty folder by a folder. */
  rename(name: Name, to: Directory, toName: string): Promise<void> {
    const shownAs = isTemporaryName(name.toString()) ? to.pathOf(toName) : this.pathOf(name);
    return to.use(toName, target => this.use(name, source => system.rename(source, target), shownAs));
  }

  /**
   * link(2): fails with `exists` where rename would replace. With `denied` where it cannot be had: some file
   * systems have no hard links, and outside Linux link(2) may follow a symbolic link.
   */
  link(name: string, to: Directory, toName: string): Promise<void> {
    if (this.addressing === 'paths') return Promise.reject(new WorkspaceFsError('denied', this.pathOf(name)));
    return to.use(toName, target => this.use(name, source => system.link(source, target)));
  }

  unlink(name: Name): Promise<void> {
    return this.use(name, path => fs.unlink(path));
  }

  /** Takes one of two names of a file away; false where that needs more than unlink(2), or is done already. */
  async dropName(name: string): Promise<boolean> {
    try {
      await this.use(name, system.dropName);
      return true;
    } catch {
      return false;
    }
  }

  removeDirectory(name: Name): Promise<void> {
    return this.use(name, path => fs.rmdir(path));
  }

  /** Everything in it, in no order. */
  async names(): Promise<DirectoryName[]> {
    // Latin-1 keeps each byte: names need not be UTF-8. No file types: where a file system does not send them
    // along, Node would ask for each one synchronously.
    const names = await this.use('', path =>
      system.list(path, fstatSync(this.fd).size <= SMALL_FOLDER_BYTES),
    );
    return names.map(nameFromBytes);
  }

  /** What this folder is now, also when it was moved since. */
  async stats(): Promise<BigIntStats> {
    return fstatSync(this.fd, { bigint: true });
  }

  /** Makes what was created, renamed and removed in it durable. */
  async sync(): Promise<void> {
    try {
      await flush(this.fd);
    } catch (error) {
      // Some network file systems know no such thing for folders: there, names are durable at once.
      if ((error as NodeJS.ErrnoException).code === 'EINVAL') return;
      throw asWorkspaceError(error, this.path);
    }
  }

  async giveTo(owner: { uid: number; gid: number } | undefined, mode: number): Promise<void> {
    try {
      await system.handOver(this.fd, owner, mode);
    } catch (error) {
      throw asWorkspaceError(error, this.path);
    }
  }

  /** Gives the owner of a folder in this one the permission to empty it. */
  async unlock(name: Name): Promise<void> {
    if (this.addressing === 'paths') return;
    // chmod(2) follows links; through a descriptor it reaches the folder that was opened and nothing else.
    const handle = await this.use(name, path => fs.open(path, OPEN_DIRECTORY | O_PATH));
    try {
      await this.use(name, () => fs.chmod(`/proc/self/fd/${handle.fd}`, 0o700));
    } finally {
      await handle.close();
    }
  }

  /** Waits for what is under way: a descriptor's number may belong to another folder as soon as it is closed. */
  close(): Promise<void> {
    this.closing ??= this.whenUnused().then(() => closeSync(this.fd));
    return this.closing;
  }

  private whenUnused(): Promise<void> {
    if (this.inFlight === 0) return Promise.resolve();
    return new Promise(resolve => {
      this.whenIdle = resolve;
    });
  }

  private refuseUnlessFile(name: string, stats: BigIntStats): void {
    if (stats.isDirectory()) throw new WorkspaceFsError('is_directory', this.pathOf(name));
    if (!stats.isFile()) throw new WorkspaceFsError('not_regular', this.pathOf(name));
  }

  /** What errors name: never a temporary file, which is unknown outside. */
  private pathOf(name: Name): string {
    const text = name.toString();
    return text === '' || isTemporaryName(text) ? this.path : joinPath(this.path, text);
  }

  private async use<T>(
    name: Name,
    operation: (path: Name) => T | Promise<T>,
    shownAs = this.pathOf(name),
  ): Promise<T> {
    if (this.closing) throw new Error('The folder was closed');
    this.inFlight++;
    try {
      const path =
        typeof name === 'string' ? this.base + name : Buffer.concat([Buffer.from(this.base), name]);
      return await operation(path);
    } catch (error) {
      throw asWorkspaceError(error, shownAs);
    } finally {
      if (--this.inFlight === 0) this.whenIdle?.();
    }
  }
}
