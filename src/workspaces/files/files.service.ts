import { Injectable } from '@nestjs/common';
import {
  normalizePath,
  type OpenFile,
  type WorkspaceFs,
  WorkspaceFsError,
} from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { DEFAULT_LIMIT, Page } from '../../platform/dto/index.js';
import { FolderZips, type ZippedFolder } from '../archives/index.js';
import { WorkspaceFolders, WorkspacesStore } from '../core/index.js';
import { cursorAfter, pathOfCursor } from './cursor.js';
import { fileTexts } from './file-texts.js';
import {
  ContentView,
  DownloadFile,
  EntryPage,
  EntryView,
  ListFiles,
  ReadContent,
  StatFile,
} from './files.dto.js';

import './file-problems.js';

const ABSENT = { 404: 'No such workspace or path' };

/** What is in a workspace. The folder on disk is the truth; nothing is cached. */
@Injectable()
export class FilesService {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
    private readonly zips: FolderZips,
  ) {}

  @Action({
    name: 'file_list',
    route: 'GET /api/workspaces/:workspaceId/files',
    on: 'workspace_id',
    summary: 'List a folder',
    effect: 'read',
    permission: 'file.read',
    input: ListFiles,
    output: EntryPage,
    tool: {
      name: 'list_files',
      title: 'List files',
      description: 'List a folder of a workspace.',
      agents: { text: fileTexts.list, defaults: { limit: 200 } },
    },
    refuses: ABSENT,
  })
  async list(actor: Actor, input: ListFiles): Promise<Page<EntryView>> {
    const { path = '', recursive = false, limit = DEFAULT_LIMIT } = input;
    const after = pathOfCursor(input.cursor);
    const files = await this.open(actor, input.workspace_id);
    const { entries, next } = await files.list(path, { recursive, limit, after });
    return { items: entries, next_cursor: next === null ? null : cursorAfter(next) };
  }

  @Action({
    name: 'file_stat',
    route: 'GET /api/workspaces/:workspaceId/files/stat',
    on: 'workspace_id',
    summary: 'Describe a file or folder',
    effect: 'read',
    permission: 'file.read',
    input: StatFile,
    output: EntryView,
    refuses: ABSENT,
  })
  async stat(actor: Actor, { workspace_id, path }: StatFile): Promise<EntryView> {
    return (await this.open(actor, workspace_id)).stat(path);
  }

  @Action({
    name: 'file_read',
    route: 'GET /api/workspaces/:workspaceId/files/content',
    on: 'workspace_id',
    summary: 'Read a text file, or some lines of it',
    effect: 'read',
    permission: 'file.read',
    input: ReadContent,
    output: ContentView,
    tool: {
      name: 'read_file',
      title: 'Read a file',
      description: 'Read a text file of a workspace, or some of its lines.',
      agents: { text: fileTexts.read },
    },
    refuses: { ...ABSENT, 409: 'Not a text file', 413: 'The lines lie beyond the first 32 MiB' },
  })
  async read(actor: Actor, { workspace_id, path, start_line, end_line }: ReadContent): Promise<ContentView> {
    return (await this.open(actor, workspace_id)).readText(path, { start_line, end_line });
  }

  @Action({
    name: 'file_download',
    on: 'workspace_id',
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
    return (await this.open(actor, workspace_id)).openRead(path);
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
    return {
      name: at.slice(at.lastIndexOf('/') + 1) || workspace.name,
      zip: signal => this.zips.open({ workspaceId: workspace.id, files, path: at, signal }),
    };
  }

  private async open(actor: Actor, id: string): Promise<WorkspaceFs> {
    return this.folders.open(await this.workspaces.require(actor, 'file.read', id));
  }
}
