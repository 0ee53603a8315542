import { resolve } from 'node:path';
import { Destination } from './destination.js';
import { type Addressing, Directory } from './directory.js';
import { isWorkspaceError, WorkspaceFsError } from './errors.js';
import { KeyedLock } from './keyed-lock.js';
import { componentsOf, parentOf } from './path.js';

export interface WorkspaceFsOptions {
  /** What is made here is given to this user: for a service that runs as root. Else it belongs to the service. */
  owner?: { uid: number; gid: number };
  /** The most bytes that a file written here may have. */
  maxFileBytes: number;
  /** Called when all checks are done, before anything in it is changed; what it throws keeps it from that. */
  beforeChange?: () => void;
  /** @internal How folders are addressed; default by platform. */
  addressing?: Addressing;
}

/** Every tree of the process: two objects for one root must exclude each other. */
const locks = new KeyedLock();

/** The ways into a workspace: opens folders by walking from the root, and closes them when the work is done. */
export class Tree {
  readonly root: string;
  private readonly addressing: Addressing;

  constructor(
    root: string,
    readonly options: WorkspaceFsOptions,
  ) {
    this.root = resolve(root);
    this.addressing = options.addressing ?? (process.platform === 'linux' ? 'descriptors' : 'paths');
  }

  /** Runs work with a folder open. */
  async inFolder<T>(path: string, work: (folder: Directory) => Promise<T>): Promise<T> {
    const folder = await this.open(path);
    try {
      return await work(folder);
    } finally {
      await folder.close();
    }
  }

  /** Runs work with the folder open that holds `path`, which is not the root. */
  inParent<T>(path: string, work: (folder: Directory, name: string) => Promise<T>): Promise<T> {
    return this.inFolder(parentOf(path), folder => work(folder, lastOf(path)));
  }

  /** Runs work that makes something at `path`, whose folders need not exist yet. */
  async toDestination<T>(path: string, work: (destination: Destination) => Promise<T>): Promise<T> {
    const folders = componentsOf(parentOf(path));
    let anchor = await this.openRoot();
    let depth = 0;
    try {
      for (; depth < folders.length; depth++) {
        const parent = anchor;
        anchor = await parent.directory(folders[depth] ?? '');
        await parent.close();
      }
    } catch (error) {
      if (!isWorkspaceError(error, 'not_found')) {
        await anchor.close();
        throw error;
      }
    }
    const destination = new Destination(anchor, folders.slice(depth), lastOf(path), this.options.owner);
    try {
      return await work(destination);
    } finally {
      await destination.close();
    }
  }

  /** Excludes other work of this process on the same path. */
  alone<T>(path: string, work: () => Promise<T>): Promise<T> {
    return locks.run(`${this.root}\0${path}`, work);
  }

  private async open(path: string): Promise<Directory> {
    let folder = await this.openRoot();
    for (const name of componentsOf(path)) {
      const parent = folder;
      try {
        folder = await parent.directory(name);
      } finally {
        await parent.close();
      }
    }
    return folder;
  }

  private openRoot(): Promise<Directory> {
    return Directory.openRoot(this.root, this.addressing);
  }
}

export function refuseRoot(path: string): void {
  if (path === '')
    throw new WorkspaceFsError('invalid_path', '', 'The workspace folder itself cannot be changed');
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
