import { Inject, Injectable } from '@nestjs/common';
import { normalizePath, type OpenFile, type WorkspaceFs } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/actor.js';
import type { WorkspacePermission } from '../../platform/access/policy.js';
import { Action } from '../../platform/actions/action.js';
import { DEFAULT_LIMIT, Page } from '../../platform/http/page.js';
import { Invalid } from '../../platform/http/problem.js';
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
    const { entry, created } = await files.write(input.path, decodeContent(input), preconditions);
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
    const { entry, created } = await files.write(path, bytes, { ...facts, ...preconditions });
    return { ...entry, created };
  }

  @Action({
    name: 'file_download',
    summary: 'Download the raw bytes of a file; ranges and conditional requests work',
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
    const { entry, replacements } = await files.edit(path, { old_text, new_text, replace_all, ifMatch });
    return { ...entry, replacements };
  }

  @Action({
    name: 'file_move',
    summary: 'Move or rename a file or folder',
    effect: 'write',
    permission: 'file.write',
    input: MoveFile,
    output: EntryView,
    refuses: { ...ABSENT, 409: 'Something is at the destination' },
  })
  async move(actor: Actor, { workspace_id, from, to, overwrite }: MoveFile): Promise<EntryView> {
    return (await this.open(actor, 'file.write', workspace_id)).move(from, to, { overwrite });
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
    return files.copy(from, to, { overwrite });
  }

  @Action({
    name: 'file_mkdir',
    summary: 'Make a folder and those above it; one that is there is fine',
    effect: 'write',
    permission: 'file.write',
    input: FilePath,
    output: EntryView,
    refuses: { ...ABSENT, 409: 'A file is at the path' },
  })
  async mkdir(actor: Actor, { workspace_id, path }: FilePath): Promise<EntryView> {
    return (await this.open(actor, 'file.write', workspace_id)).mkdir(path);
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
    await (await this.open(actor, 'file.write', workspace_id)).remove(path, { recursive });
    return { path: normalizePath(path), deleted: true };
  }

  private async open(actor: Actor, permission: WorkspacePermission, id: string): Promise<WorkspaceFs> {
    return this.folders.open(await this.workspaces.require(actor, permission, id));
  }
}

function decodeContent({ content, encoding }: WriteContent): string | Buffer {
  if (encoding !== 'base64') return content;
  const bytes = Buffer.from(content, 'base64');
  // The decoder passes over what does not belong; the way back shows whether there was any.
  if (bytes.toString('base64') !== content) throw new Invalid('content is not valid base64');
  return bytes;
}
