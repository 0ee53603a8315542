import { Injectable } from '@nestjs/common';
import type { Reading } from '#libs/git-history/index.js';
import { WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { WorkspaceFolders, WorkspacesStore } from '../core/index.js';
import type { RepositoryOf } from './git-store.js';
import { readAsLogged, type SeenAs } from './read-as-logged.js';

const FOLDER = 'kept';
const ETAG = /^"([0-9a-z]+-[0-9a-z]+--?[0-9a-z]+)"$/;
const STRAY_MS = 24 * 3_600_000;
const CONCURRENCY = 8;

/** A file as a change left it: the time of a file can be set back, so that two changes have one entity tag. */
export interface Left extends SeenAs {
  readonly seq: string;
}

/** The name of a copy; undefined where the entity tag is none of the service. */
export const copyOf = ({ seq, etag }: Pick<Left, 'seq' | 'etag'>) => {
  const [, tag] = ETAG.exec(etag ?? '') ?? [];
  return tag && `${seq}.${tag}`;
};

/**
 * Contents that were overwritten before they were captured, as files beside the repository, by the changes that left them. Making one
 * takes no lock and no git; the next round of capturing brings them in, and removes them.
 */
@Injectable()
export class KeptCopies {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
  ) {}

  /** Keeps those files that are still as they were seen. */
  async add(workspace: RepositoryOf, seen: readonly Left[], maxBytes: number): Promise<void> {
    const files = this.folders.open(workspace);
    const kept = await this.folders.openHistory(workspace);
    for (let at = 0; at < seen.length; at += CONCURRENCY)
      await Promise.all(seen.slice(at, at + CONCURRENCY).map(file => addOne(files, kept, file, maxBytes)));
    // The folder may have been made again.
    if (!(await this.workspaces.folderOf(workspace.id))) await this.folders.remove(workspace.id);
  }

  /** Names of copies that are there now. */
  async names(workspace: RepositoryOf): Promise<Set<string>> {
    const kept = await this.folders.openHistory(workspace);
    return new Set((await listed(kept)).map(({ path }) => path.slice(FOLDER.length + 1)));
  }

  async read(workspace: RepositoryOf, name: string): Promise<Reading> {
    const kept = await this.folders.openHistory(workspace);
    const copy = await kept.find(`${FOLDER}/${name}`);
    return copy ? readAsLogged(kept, copy, Number.POSITIVE_INFINITY) : { unkept: 'overwritten' };
  }

  /** Does not make the folder again, if the workspace was deleted meanwhile. */
  async remove(workspace: RepositoryOf, names: readonly string[]): Promise<void> {
    const kept = new WorkspaceFs(this.folders.historyOf(workspace), { maxFileBytes: 0 });
    for (const name of names) await removeOne(kept, `${FOLDER}/${name}`);
  }

  /** Removes those of writes that did not come about. */
  async sweep(workspace: RepositoryOf): Promise<void> {
    const kept = await this.folders.openHistory(workspace);
    for (const { path, modified_at } of await listed(kept))
      if (Date.now() - Date.parse(modified_at) > STRAY_MS) await removeOne(kept, path);
  }
}

async function addOne(files: WorkspaceFs, kept: WorkspaceFs, seen: Left, maxBytes: number): Promise<void> {
  const name = copyOf(seen);
  const path = `${FOLDER}/${name}`;
  if (!name || (await kept.find(path))) return;
  const reading = await readAsLogged(files, seen, maxBytes);
  if ('unkept' in reading) return;
  const { bytes, executable } = reading;
  try {
    await kept.write(path, bytes, { executable, ifNoneMatch: '*' });
  } catch (error) {
    if (!(error instanceof WorkspaceFsError && error.code === 'precondition_failed')) throw error;
  }
}

async function removeOne(kept: WorkspaceFs, path: string): Promise<void> {
  try {
    await kept.remove(path);
  } catch (error) {
    if (!(error instanceof WorkspaceFsError && error.code === 'not_found')) throw error;
  }
}

async function listed(kept: WorkspaceFs) {
  return (await kept.find(FOLDER)) ? kept.listAll(FOLDER) : [];
}
