import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readdir, rmdir, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import { BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { Config } from '../../platform/config/index.js';
import { Chore } from '../../platform/jobs/index.js';
import { Log } from '../../platform/log/index.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const KEPT_MS = 14 * DAY_MS;
/** No build lasts this long: folders older than this were left by a dead process. */
const ABANDONED_MS = DAY_MS;
const MAX_BYTES_OF_SITE = 2 * 1024 ** 3;
const FOLDER = 'build-cache';
/** Other accounts may traverse the folder, but not list it. */
const PASSABLE = 0o711;
const ENTRY = /^([0-9a-f]{64})\.(\d{1,15})\.[0-9a-f]{8}$/;

interface Entry {
  readonly folder: string;
  /** Folders with a `node_modules`, relative to the project. */
  readonly folders: readonly string[];
  readonly bytes: number;
}

/**
 * Installed dependencies of sites. A build takes an entry by renaming it, so that two never share one. Contents are untrusted:
 * code of the site wrote to them.
 */
@Injectable()
export class ModuleCache implements BeforeApplicationShutdown {
  private readonly removals = new Set<Promise<void>>();
  /** All moves stay inside, so links in snapshots cannot redirect them. */
  private readonly root: string;
  private readonly files: WorkspaceFs;

  constructor(
    config: Config,
    private readonly log: Log,
  ) {
    this.root = path.resolve(config.dataDir);
    this.files = new WorkspaceFs(this.root, { maxFileBytes: 0 });
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.removals);
  }

  /** Creates a folder for an installation, on the disk of the cache. The caller discards it. */
  async workFolder(site: string): Promise<string> {
    await this.make(site);
    return path.join(this.root, FOLDER, site, `install-${randomUUID()}`);
  }

  /** Moves an entry into the project. False if there is none. */
  async take(site: string, key: string, folder: string, folders: readonly string[]): Promise<boolean> {
    const taken = this.within(site, `taken-${randomUUID()}`);
    for (const { name } of await this.entries(site)) {
      if (!name.startsWith(`${key}.`) || !(await this.moved(this.within(site, name), taken))) continue;
      try {
        await this.moveAll(folders, at => [`${taken}/${at}`, this.modulesOf(folder, folders[at])]);
        return true;
      } finally {
        await this.remove(taken);
      }
    }
    return false;
  }

  async hand(from: string, to: string, folders: readonly string[]): Promise<void> {
    await this.moveAll(folders, at => [this.modulesOf(from, folders[at]), this.modulesOf(to, folders[at])]);
  }

  /** Moves the dependencies of a project into the cache, if possible. */
  async keep(site: string, key: string, entry: Entry): Promise<void> {
    if (entry.bytes > MAX_BYTES_OF_SITE) return;
    try {
      await this.put(site, key, entry);
    } catch (error) {
      this.log.warn({ err: error, site }, 'the dependencies of a site were not kept');
    }
  }

  private async put(site: string, key: string, { folder, folders, bytes }: Entry): Promise<void> {
    await this.make(site);
    const made = `new-${randomUUID()}`;
    await mkdir(path.join(this.root, FOLDER, site, made), { mode: PASSABLE });
    await this.moveAll(folders, at => [
      this.modulesOf(folder, folders[at]),
      this.within(site, `${made}/${at}`),
    ]);
    const now = new Date();
    await utimes(path.join(this.root, FOLDER, site, made), now, now);
    const name = `${key}.${bytes}.${randomUUID().slice(0, 8)}`;
    await this.moved(this.within(site, made), this.within(site, name));
    await this.shrink(site);
  }

  async forget(site: string): Promise<void> {
    await this.remove(`${FOLDER}/${checked(site)}`);
  }

  /** Removes a folder of `workFolder` in the background: it holds thousands of files. */
  discard(folder: string): void {
    const removal = this.remove(path.relative(this.root, folder)).finally(() =>
      this.removals.delete(removal),
    );
    this.removals.add(removal);
  }

  @Chore('sweep_build_cache', { everyMs: DAY_MS })
  async sweep(now = Date.now()): Promise<void> {
    for (const site of await namesIn(path.join(this.root, FOLDER))) {
      const folder = path.join(this.root, FOLDER, site);
      for (const name of await namesIn(folder)) {
        const age = now - (await modifiedAt(path.join(folder, name)));
        if (age > (ENTRY.test(name) ? KEPT_MS : ABANDONED_MS)) await this.remove(this.within(site, name));
      }
      // Fails where something is in it.
      await rmdir(folder).catch(() => undefined);
    }
  }

  private async shrink(site: string): Promise<void> {
    const keys = new Set<string>();
    let bytes = 0;
    for (const entry of await this.entries(site)) {
      bytes += entry.bytes;
      if (bytes > MAX_BYTES_OF_SITE || keys.has(entry.key)) await this.remove(this.within(site, entry.name));
      keys.add(entry.key);
    }
  }

  private async entries(site: string): Promise<{ name: string; key: string; bytes: number }[]> {
    const folder = path.join(this.root, FOLDER, checked(site));
    const found = [];
    for (const name of await namesIn(folder)) {
      const [, key, bytes] = ENTRY.exec(name) ?? [];
      if (key === undefined) continue;
      found.push({ name, key, bytes: Number(bytes), at: await modifiedAt(path.join(folder, name)) });
    }
    return found.toSorted((a, b) => b.at - a.at);
  }

  private async moveAll(
    folders: readonly string[],
    way: (at: number) => [from: string, to: string],
  ): Promise<void> {
    for (const at of folders.keys()) await this.moved(...way(at));
  }

  /** False if there is nothing to move, or moving fails. */
  private async moved(from: string, to: string): Promise<boolean> {
    try {
      if ((await this.files.find(from))?.type !== 'directory') return false;
      await this.remove(to);
      await this.files.move(from, to);
      return true;
    } catch (error) {
      if (!(error instanceof WorkspaceFsError)) throw error;
      if (error.code !== 'not_found') this.log.debug({ err: error }, 'dependencies of a site were not moved');
      return false;
    }
  }

  private async remove(at: string): Promise<void> {
    try {
      await this.files.remove(at, { recursive: true });
    } catch (error) {
      if (!(error instanceof WorkspaceFsError)) throw error;
      if (error.code !== 'not_found')
        this.log.warn({ err: error }, 'dependencies of a site were not removed');
    }
  }

  private async make(site: string): Promise<void> {
    for (const part of [FOLDER, `${FOLDER}/${checked(site)}`]) {
      await mkdir(path.join(this.root, part), { recursive: true });
      await chmod(path.join(this.root, part), PASSABLE);
    }
  }

  private within(site: string, name: string): string {
    return `${FOLDER}/${checked(site)}/${name}`;
  }

  /** Relative to the root. Throws for folders outside of it. */
  private modulesOf(folder: string, part = ''): string {
    const at = path.relative(this.root, folder);
    if (at === '' || at.startsWith('..') || path.isAbsolute(at))
      throw new Error('A project is built below DATA_DIR alone');
    return path.posix.join(at, part, 'node_modules');
  }
}

function checked(site: string): string {
  if (!/^[\w-]{1,64}$/.test(site)) throw new Error('The key of a cache is an id');
  return site;
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** A missing file counts as modified now. */
async function modifiedAt(file: string): Promise<number> {
  try {
    return (await stat(file)).mtimeMs;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Date.now();
    throw error;
  }
}
