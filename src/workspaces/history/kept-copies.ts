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

/** Entity tags are those of the service; undefined for what is none. */
const pathOf = (etag: string | null) => {
  const [, name] = ETAG.exec(etag ?? '') ?? [];
  return name && `${FOLDER}/${name}`;
};

/**
 * Contents that were overwritten before they were captured, as files beside the repository, by their entity tags. Making one
 * takes no lock and no git; the next round of capturing brings them in, and removes them.
 */
@Injectable()
export class KeptCopies {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
  ) {}

  /** Keeps those files that are still as they were seen. */
  async add(workspace: RepositoryOf, seen: readonly SeenAs[], maxBytes: number): Promise<void> {
    const files = this.folders.open(workspace);
    const kept = await this.folders.openHistory(workspace);
    for (let at = 0; at < seen.length; at += CONCURRENCY)
      await Promise.all(seen.slice(at, at + CONCURRENCY).map(file => addOne(files, kept, file, maxBytes)));
    // The folder may have been made again.
    if (!(await this.workspaces.folderOf(workspace.id))) await this.folders.remove(workspace.id);
  }

  /** A reader of copies, and the entity tags of those that are there now. */
  async of(
    workspace: RepositoryOf,
  ): Promise<{ etags: Set<string>; read: (seen: SeenAs) => Promise<Reading> }> {
    const kept = await this.folders.openHistory(workspace);
    const names = await listed(kept);
    return {
      etags: new Set(names.map(({ path }) => `"${path.slice(FOLDER.length + 1)}"`)),
      read: ({ etag }) => readCopy(kept, etag),
    };
  }

  /** Does not make the folder again, if the workspace was deleted meanwhile. */
  async remove(workspace: RepositoryOf, etags: readonly string[]): Promise<void> {
    const kept = new WorkspaceFs(this.folders.historyOf(workspace), { maxFileBytes: 0 });
    for (const etag of etags) await removeOne(kept, pathOf(etag));
  }

  /** Removes those of writes that did not come about. */
  async sweep(workspace: RepositoryOf): Promise<void> {
    const kept = await this.folders.openHistory(workspace);
    for (const { path, modified_at } of await listed(kept))
      if (Date.now() - Date.parse(modified_at) > STRAY_MS) await removeOne(kept, path);
  }
}

async function addOne(files: WorkspaceFs, kept: WorkspaceFs, seen: SeenAs, maxBytes: number): Promise<void> {
  const path = pathOf(seen.etag);
  if (!path || (await kept.find(path))) return;
  const reading = await readAsLogged(files, seen, maxBytes);
  if ('unkept' in reading) return;
  const { bytes, executable } = reading;
  try {
    await kept.write(path, bytes, { executable, ifNoneMatch: '*' });
  } catch (error) {
    if (!(error instanceof WorkspaceFsError && error.code === 'precondition_failed')) throw error;
  }
}

async function readCopy(kept: WorkspaceFs, etag: string | null): Promise<Reading> {
  const path = pathOf(etag);
  const copy = path ? await kept.find(path) : null;
  if (!copy) return { unkept: 'overwritten' };
  return readAsLogged(kept, copy, Number.POSITIVE_INFINITY);
}

async function removeOne(kept: WorkspaceFs, path: string | undefined): Promise<void> {
  try {
    if (path) await kept.remove(path);
  } catch (error) {
    if (!(error instanceof WorkspaceFsError && error.code === 'not_found')) throw error;
  }
}

async function listed(kept: WorkspaceFs) {
  return (await kept.find(FOLDER)) ? kept.listAll(FOLDER) : [];
}
