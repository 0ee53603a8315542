import { Injectable } from '@nestjs/common';
import { ConcurrencyLimit } from '#libs/concurrency-limit/index.js';
import {
  type Entry,
  type Seen,
  type WorkspaceFs,
  WorkspaceFsError,
  workspacePath,
} from '#libs/workspace-fs/index.js';
import { type VisibleWorkspace, WorkspaceFolders } from '../core/index.js';
import type { FileListPage, FindFiles, FoundFilesPage } from './files.dto.js';
import { TreeScan } from './tree-scan.js';

/** Whole trees that are looked through at once. */
const MAX_OF_WORKSPACE = 8;
const MAX_IN_PROCESS = 16;
/** Entries that are described at once. */
const AT_ONCE = 32;

interface Below {
  readonly path: string;
  readonly ignored: boolean;
  readonly limit: number;
  readonly signal?: AbortSignal;
}

/** What was found out about a tree, where something could. */
interface Scanned {
  readonly seen?: Iterable<Seen>;
  readonly ignoreFiles?: string[];
}

/** Looks through whole trees of files: nothing is indexed. */
@Injectable()
export class FileTrees {
  private readonly ofWorkspace = new ConcurrencyLimit(MAX_OF_WORKSPACE, 'listings run in this workspace');
  private readonly inProcess = new ConcurrencyLimit(MAX_IN_PROCESS);

  constructor(
    private readonly folders: WorkspaceFolders,
    private readonly scan: TreeScan,
  ) {}

  /** A folder, or all that is below it, with counts where there is no room for all. */
  tree(
    workspace: VisibleWorkspace,
    { recursive, limit, ...below }: Below & { recursive: boolean },
  ): Promise<FileListPage> {
    return this.looked(workspace, below, async (files, options) => {
      const { entries, total } = await files.overview({
        ...options,
        limit,
        depth: recursive ? undefined : 1,
      });
      const held = new Map(entries.map(({ path, holds }) => [path, holds]));
      const items = await described(files, [...held.keys()]);
      const isWhole =
        [...held.values()].every(holds => holds === undefined) &&
        entries.length >= total.files + total.folders;
      return {
        items: items.map(entry => ({ ...entry, holds: held.get(entry.path) })),
        next_cursor: null,
        ...(isWhole ? {} : { total }),
      };
    });
  }

  /** The last changed first. */
  newest(
    workspace: VisibleWorkspace,
    { recursive, limit, ...below }: Below & { recursive: boolean },
  ): Promise<FileListPage> {
    return this.looked(workspace, below, async (files, options) => {
      const folder = workspacePath(below.path);
      const glob = recursive ? undefined : folder === '' ? '/*' : `${escaped(folder)}/*`;
      const { paths } = await files.findBelow({
        ...options,
        limit,
        glob,
        sort: 'newest',
        type: recursive ? 'file' : undefined,
      });
      return { items: await described(files, paths), next_cursor: null };
    });
  }

  find(
    workspace: VisibleWorkspace,
    {
      pattern,
      type,
      sort,
      ...below
    }: Below & Pick<FindFiles, 'pattern' | 'type' | 'sort'> & { after?: string },
  ): Promise<Omit<FoundFilesPage, 'next_cursor'> & { more: boolean }> {
    const isPattern = /[*?/]|\{.*,.*\}/.test(pattern);
    const wanted = isPattern ? { glob: pattern } : { name: pattern };
    return this.looked(workspace, below, async (files, options) => {
      const { paths, total, more } = await files.findBelow({ ...options, ...wanted, type, sort });
      return { items: await described(files, paths), total, more };
    });
  }

  /** Runs work with everything below a folder, in its turn. */
  private looked<B extends Omit<Below, 'limit'>, T>(
    workspace: VisibleWorkspace,
    below: B,
    work: (files: WorkspaceFs, options: B & Scanned) => Promise<T>,
  ): Promise<T> {
    const { signal, ignored } = below;
    const path = workspacePath(below.path);
    const look = async () => {
      const files = this.folders.open(workspace);
      if (path !== '' && (await files.stat(path)).type !== 'directory')
        throw new WorkspaceFsError('not_directory', path);
      const scanned = await this.scan.everything(workspace, { path, ignored, signal });
      return work(files, { ...below, ...scanned, path });
    };
    return this.ofWorkspace.run(() => this.inProcess.run(look, { signal }), { key: workspace.id, signal });
  }
}

/** As they are now; what has gone meanwhile is left out. */
async function described(files: WorkspaceFs, paths: readonly string[]): Promise<Entry[]> {
  const entries: (Entry | null)[] = [];
  for (let at = 0; at < paths.length; at += AT_ONCE)
    entries.push(...(await Promise.all(paths.slice(at, at + AT_ONCE).map(path => files.find(path)))));
  return entries.filter(entry => entry !== null);
}

/** A pattern has no way to name these characters, but it has one for any character. */
const escaped = (path: string): string => path.replaceAll(/[*{}]/g, '?');
