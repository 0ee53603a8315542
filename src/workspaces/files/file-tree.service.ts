import { Inject, Injectable } from '@nestjs/common';
import { type Entry, normalizePath, type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/actor.js';
import { Action } from '../../platform/actions/action.js';
import { WorkspaceQuota } from '../changes/workspace-quota.js';
import './file-problems.js';
import { FileWriting, written } from './file-writing.js';
import { CopiedView, DeletedPathView, DeleteFile, EntryView, FilePath, MoveFile } from './files.dto.js';

const ABSENT = { 404: 'No such workspace or path' };

/** Moving, copying, making and deleting files and folders. */
@Injectable()
export class FileTreeService {
  constructor(
    @Inject(FileWriting) private readonly writing: FileWriting,
    @Inject(WorkspaceQuota) private readonly quota: WorkspaceQuota,
  ) {}

  @Action({
    name: 'file_move',
    summary: 'Move or rename a file or folder',
    effect: 'write',
    permission: 'file.write',
    input: MoveFile,
    output: EntryView,
    refuses: {
      ...ABSENT,
      409: 'Something is at the destination, or the workspace may not have more folders',
    },
  })
  async move(actor: Actor, { workspace_id, from, to, overwrite }: MoveFile): Promise<EntryView> {
    const files = await this.writing.open(actor, workspace_id);
    await this.requireFolders(workspace_id, files, parentOf(to));
    await this.writing.begin(actor, workspace_id, from, to);
    const moved = await files.move(from, to, { overwrite });
    const origin = normalizePath(from);
    const entries = await entriesAt(files, moved);
    const changes = entries.map(entry => ({
      ...written(entry, true),
      kind: 'moved' as const,
      from: origin + entry.path.slice(moved.path.length),
    }));
    await this.writing.record(actor, workspace_id, changes);
    return moved;
  }

  @Action({
    name: 'file_copy',
    summary: 'Copy a file or folder',
    effect: 'write',
    permission: 'file.write',
    input: MoveFile,
    output: CopiedView,
    refuses: { ...ABSENT, 409: 'Something is at the destination' },
  })
  async copy(actor: Actor, { workspace_id, from, to, overwrite }: MoveFile): Promise<CopiedView> {
    const files = await this.writing.open(actor, workspace_id);
    const originals = await entriesAt(files, await files.stat(from));
    const room = {
      bytes: originals.reduce((sum, { size }) => sum + size, 0),
      files: originals.filter(isKept).length,
    };
    const copied = await this.quota.during(workspace_id, room, async () => {
      await this.writing.begin(actor, workspace_id, to);
      return files.copy(from, to, { overwrite });
    });
    const entries = await entriesAt(files, copied);
    await this.writing.record(
      actor,
      workspace_id,
      entries.map(entry => written(entry, true)),
    );
    return copied;
  }

  @Action({
    name: 'file_mkdir',
    summary: 'Make a folder and those above it; one that is there is fine',
    effect: 'write',
    permission: 'file.write',
    input: FilePath,
    output: EntryView,
    refuses: { ...ABSENT, 409: 'A file is at the path, or the workspace may not have more folders' },
  })
  async mkdir(actor: Actor, { workspace_id, path }: FilePath): Promise<EntryView> {
    const files = await this.writing.open(actor, workspace_id);
    const isThere = await exists(files, path);
    if (!isThere) await this.requireFolders(workspace_id, files, path);
    const made = await files.mkdir(path);
    if (!isThere) await this.writing.record(actor, workspace_id, [written(made, true)]);
    return made;
  }

  @Action({
    name: 'file_delete',
    summary: 'Delete a file or folder',
    effect: 'destructive',
    permission: 'file.write',
    input: DeleteFile,
    output: DeletedPathView,
    refuses: { ...ABSENT, 409: 'The folder is not empty' },
  })
  async remove(actor: Actor, { workspace_id, path, recursive }: DeleteFile): Promise<DeletedPathView> {
    const files = await this.writing.open(actor, workspace_id);
    const entries = await entriesAt(files, await files.stat(path));
    await this.writing.begin(actor, workspace_id, path);
    await files.remove(path, { recursive });
    await this.writing.record(
      actor,
      workspace_id,
      entries.map(entry => ({ path: entry.path, kind: 'deleted' })),
    );
    return { path: normalizePath(path), deleted: true };
  }

  /** Room for a folder and those above it, as far as they are missing. */
  private async requireFolders(workspaceId: string, files: WorkspaceFs, folder: string): Promise<void> {
    let missing = 0;
    for (let at = normalizePath(folder); at !== '' && !(await exists(files, at)); at = parentOf(at))
      missing++;
    if (missing > 0) await this.quota.require(workspaceId, { bytes: 0, files: missing });
  }
}

/** Links and special files are not copied. */
const isKept = ({ type }: Entry): boolean => type === 'file' || type === 'directory';

/** The folder that holds a path; '' is the workspace itself. */
function parentOf(path: string): string {
  const normal = normalizePath(path);
  return normal.slice(0, Math.max(0, normal.lastIndexOf('/')));
}

/** An entry and, of a folder, what it holds. */
async function entriesAt(files: WorkspaceFs, entry: Entry): Promise<Entry[]> {
  const entries = [entry];
  if (entry.type !== 'directory') return entries;
  let after: string | undefined;
  do {
    const listing = await files.list(entry.path, { recursive: true, after });
    entries.push(...listing.entries);
    after = listing.next ?? undefined;
  } while (after !== undefined);
  return entries;
}

async function exists(files: WorkspaceFs, path: string): Promise<boolean> {
  try {
    await files.stat(path);
    return true;
  } catch (error) {
    if (error instanceof WorkspaceFsError && error.code === 'not_found') return false;
    throw error;
  }
}
