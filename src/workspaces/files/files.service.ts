import { Inject, Injectable } from '@nestjs/common';
import {
  type Entry,
  normalizePath,
  type OpenFile,
  type WorkspaceFs,
  WorkspaceFsError,
} from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/actor.js';
import type { WorkspacePermission } from '../../platform/access/policy.js';
import { Action } from '../../platform/actions/action.js';
import { DEFAULT_LIMIT, Page } from '../../platform/http/page.js';
import { Invalid } from '../../platform/http/problem.js';
import { type ZippedFolder, zipFolder } from '../archives/zip-folder.js';
import { type Change, ChangeLog } from '../changes/change-log.js';
import { WorkspaceQuota } from '../changes/workspace-quota.js';
import { writerFor } from '../changes/writer.js';
import { WorkspaceFolders, WorkspacesStore } from '../workspaces/index.js';
import { cursorAfter, pathOfCursor } from './cursor.js';
import './file-problems.js';
import {
  ContentView,
  CopiedView,
  DeletedPathView,
  DeleteFile,
  DownloadFile,
  EditedView,
  EditFile,
  EntryPage,
  EntryView,
  FilePath,
  ListFiles,
  MoveFile,
  ReadContent,
  StatFile,
  WriteContent,
  WrittenView,
} from './files.dto.js';
import type { Preconditions } from './preconditions.js';
import type { ReceivedBody } from './receive-body.js';

const ABSENT = { 404: 'No such workspace or path' };
const WRITES = {
  ...ABSENT,
  409: 'Something else is at the path',
  412: 'The precondition failed',
  413: 'Over the size limit',
};

/** Files of a workspace. The folder on disk is the truth; nothing is cached. */
@Injectable()
export class FilesService {
  constructor(
    @Inject(WorkspacesStore) private readonly workspaces: WorkspacesStore,
    @Inject(WorkspaceFolders) private readonly folders: WorkspaceFolders,
    @Inject(ChangeLog) private readonly changes: ChangeLog,
    @Inject(WorkspaceQuota) private readonly quota: WorkspaceQuota,
  ) {}

  @Action({
    name: 'file_list',
    summary: 'List a folder',
    effect: 'read',
    permission: 'file.read',
    input: ListFiles,
    output: EntryPage,
    refuses: ABSENT,
  })
  async list(actor: Actor, input: ListFiles): Promise<Page<EntryView>> {
    const { path = '', recursive = false, limit = DEFAULT_LIMIT } = input;
    const after = pathOfCursor(input.cursor);
    const files = await this.open(actor, 'file.read', input.workspace_id);
    const { entries, next } = await files.list(path, { recursive, limit, after });
    return { items: entries, next_cursor: next === null ? null : cursorAfter(next) };
  }

  @Action({
    name: 'file_stat',
    summary: 'Describe a file or folder',
    effect: 'read',
    permission: 'file.read',
    input: StatFile,
    output: EntryView,
    refuses: ABSENT,
  })
  async stat(actor: Actor, { workspace_id, path }: StatFile): Promise<EntryView> {
    return (await this.open(actor, 'file.read', workspace_id)).stat(path);
  }

  @Action({
    name: 'file_read',
    summary: 'Read a text file, or some lines of it',
    effect: 'read',
    permission: 'file.read',
    input: ReadContent,
    output: ContentView,
    refuses: { ...ABSENT, 409: 'Not a text file' },
  })
  async read(actor: Actor, { workspace_id, path, start_line, end_line }: ReadContent): Promise<ContentView> {
    return (await this.open(actor, 'file.read', workspace_id)).readText(path, { start_line, end_line });
  }

  @Action({
    name: 'file_write',
    summary: 'Write a whole file, making its folders; all of it or nothing',
    effect: 'write',
    permission: 'file.write',
    input: WriteContent,
    output: WrittenView,
    refuses: WRITES,
  })
  async write(actor: Actor, input: WriteContent, preconditions: Preconditions = {}): Promise<WrittenView> {
    const files = await this.open(actor, 'file.write', input.workspace_id);
    const content = decodeContent(input);
    const room = { bytes: Buffer.byteLength(content), files: 1 };
    const { entry, created } = await this.quota.during(input.workspace_id, room, async () => {
      await this.beforeWriting(actor, input.workspace_id, input.path);
      return files.write(input.path, content, preconditions);
    });
    await this.record(actor, input.workspace_id, [written(entry, created)]);
    return { ...entry, created };
  }

  @Action({
    name: 'file_upload',
    summary: 'Write a file from the raw bytes of the body; all of it or nothing',
    effect: 'write',
    permission: 'file.write',
    input: FilePath,
    output: WrittenView,
    restOnly: true,
    refuses: WRITES,
  })
  async upload(
    actor: Actor,
    { workspace_id, path }: FilePath,
    { bytes, ...facts }: ReceivedBody,
    preconditions: Preconditions = {},
  ): Promise<WrittenView> {
    const files = await this.open(actor, 'file.write', workspace_id);
    const room = { bytes: facts.expectedBytes ?? 0, files: 1 };
    const { entry, created } = await this.quota.during(workspace_id, room, async kept => {
      const source = facts.expectedBytes === undefined ? kept.within(bytes) : bytes;
      await this.beforeWriting(actor, workspace_id, path);
      return files.write(path, source, { ...facts, ...preconditions });
    });
    await this.record(actor, workspace_id, [written(entry, created)]);
    return { ...entry, created };
  }

  @Action({
    name: 'file_download',
    summary:
      'Download the raw bytes of a file, where ranges and conditional requests work, or a folder as a zip',
    effect: 'read',
    permission: 'file.read',
    input: DownloadFile,
    output: EntryView,
    restOnly: true,
    refuses: { ...ABSENT, 304: 'Not changed', 409: 'Not a file', 416: 'No such range' },
  })
  async download(actor: Actor, { workspace_id, path }: DownloadFile): Promise<OpenFile> {
    return (await this.open(actor, 'file.read', workspace_id)).openRead(path);
  }

  /** As {@link download}, and a folder as a zip. */
  async downloadAny(actor: Actor, { workspace_id, path }: DownloadFile): Promise<OpenFile | ZippedFolder> {
    const workspace = await this.workspaces.require(actor, 'file.read', workspace_id);
    const files = this.folders.open(workspace);
    const at = normalizePath(path);
    if (at !== '') {
      try {
        return await files.openRead(at); // what it is shows in opening it: most downloads are files
      } catch (error) {
        if (!(error instanceof WorkspaceFsError && error.code === 'is_directory')) throw error;
      }
    }
    return { name: at.slice(at.lastIndexOf('/') + 1) || workspace.name, zip: () => zipFolder(files, at) };
  }

  @Action({
    name: 'file_edit',
    summary: 'Replace text in a file',
    effect: 'write',
    permission: 'file.write',
    input: EditFile,
    output: EditedView,
    refuses: { ...WRITES, 409: 'The text does not occur, or occurs more than once' },
  })
  async edit(actor: Actor, input: EditFile, { ifMatch }: Preconditions = {}): Promise<EditedView> {
    const { workspace_id, path, old_text, new_text, replace_all } = input;
    const files = await this.open(actor, 'file.write', workspace_id);
    await this.quota.require(workspace_id, { bytes: Buffer.byteLength(new_text), files: 0 });
    await this.beforeWriting(actor, workspace_id, path);
    const { entry, replacements } = await files.edit(path, { old_text, new_text, replace_all, ifMatch });
    await this.record(actor, workspace_id, [written(entry, false)]);
    return { ...entry, replacements };
  }

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
    const files = await this.open(actor, 'file.write', workspace_id);
    await this.requireFolders(workspace_id, files, parentOf(to));
    await this.beforeWriting(actor, workspace_id, from, to);
    const moved = await files.move(from, to, { overwrite });
    const origin = normalizePath(from);
    const entries = await entriesAt(files, moved);
    const changes = entries.map(entry => ({
      ...written(entry, true),
      kind: 'moved' as const,
      from: origin + entry.path.slice(moved.path.length),
    }));
    await this.record(actor, workspace_id, changes);
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
    const files = await this.open(actor, 'file.write', workspace_id);
    const originals = await entriesAt(files, await files.stat(from));
    const room = {
      bytes: originals.reduce((sum, { size }) => sum + size, 0),
      files: originals.filter(isKept).length,
    };
    const copied = await this.quota.during(workspace_id, room, async () => {
      await this.beforeWriting(actor, workspace_id, to);
      return files.copy(from, to, { overwrite });
    });
    const entries = await entriesAt(files, copied);
    await this.record(
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
    const files = await this.open(actor, 'file.write', workspace_id);
    const isThere = await exists(files, path);
    if (!isThere) await this.requireFolders(workspace_id, files, path);
    const made = await files.mkdir(path);
    if (!isThere) await this.record(actor, workspace_id, [written(made, true)]);
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
    const files = await this.open(actor, 'file.write', workspace_id);
    const entries = await entriesAt(files, await files.stat(path));
    await this.beforeWriting(actor, workspace_id, path);
    await files.remove(path, { recursive });
    await this.record(
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

  /** What is at these paths is in the history before anything else is. */
  private async beforeWriting(actor: Actor, workspaceId: string, ...paths: string[]): Promise<void> {
    for (const path of paths)
      await this.changes.beforeWriting(workspaceId, writerFor(actor), normalizePath(path));
  }

  private record(actor: Actor, workspaceId: string, changes: readonly Change[]): Promise<void> {
    return this.changes.record(workspaceId, writerFor(actor), changes);
  }

  private async open(actor: Actor, permission: WorkspacePermission, id: string): Promise<WorkspaceFs> {
    return this.folders.open(await this.workspaces.require(actor, permission, id));
  }
}

function written({ path, type, size, etag }: Entry, created: boolean): Change {
  return { path, kind: created ? 'created' : 'modified', size: type === 'file' ? size : null, etag };
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

function decodeContent({ content, encoding }: WriteContent): string | Buffer {
  if (encoding !== 'base64') return content;
  const bytes = Buffer.from(content, 'base64');
  // The decoder passes over what does not belong; the way back shows whether there was any.
  if (bytes.toString('base64') !== content) throw new Invalid('content is not valid base64');
  return bytes;
}
