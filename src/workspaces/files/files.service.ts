import { isUtf8 } from 'node:buffer';
import { Injectable } from '@nestjs/common';
import { FileRefusal } from '#libs/http-files/index.js';
import { type OpenFile, type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { DEFAULT_LIMIT } from '../../platform/dto/index.js';
import {
  BadRequest,
  Conflict,
  InsufficientStorage,
  Invalid,
  NotFound,
  PreconditionFailed,
  Problem,
  TooLarge,
  translateErrors,
  Unavailable,
} from '../../platform/errors/index.js';
import { FolderZips, type ZippedFolder } from '../archives/index.js';
import { WorkspaceFolders, WorkspacesStore } from '../core/index.js';
import { DocumentTexts } from './document-texts.js';
import { FileTrees } from './file-trees.js';
import {
  ContentView,
  DownloadFile,
  EntryView,
  FileListPage,
  fileTexts,
  ListFiles,
  ReadContent,
  StatFile,
} from './files.dto.js';
import { teaching } from './near-paths.js';
import { textOrImage } from './text-or-image.js';

/** Precedes the path in a cursor, so that arbitrary text is refused. */
const MARK = '/';

/** Continues a listing after a path. Plain bytes: the longest paths leave no room in a URL for more. */
export function cursorAfter(path: string): string {
  return Buffer.from(MARK + path).toString('base64url');
}

/** Throws Invalid for a cursor that {@link cursorAfter} did not make. */
export function pathOfCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const bytes = Buffer.from(cursor, 'base64url');
  const text = bytes.toString();
  if (
    !isUtf8(bytes) ||
    !text.startsWith(MARK) ||
    text.includes('\0') ||
    cursorAfter(text.slice(1)) !== cursor
  )
    throw new Invalid('cursor is not one that this list gave out');
  return text.slice(MARK.length);
}

const ANSWERS: Record<WorkspaceFsError['code'], new (detail: string) => Problem> = {
  not_found: NotFound,
  exists: Conflict,
  not_directory: Conflict,
  is_directory: Conflict,
  not_empty: Conflict,
  not_regular: Conflict,
  symlink: Conflict,
  invalid_path: Invalid,
  too_large: TooLarge,
  precondition_failed: PreconditionFailed,
  not_text: Conflict,
  no_match: Conflict,
  ambiguous: Conflict,
  no_space: InsufficientStorage,
  denied: Conflict,
  busy: Unavailable,
  aborted: BadRequest,
};

const DISK_FULL = 'The disk of the workspaces is full, and nothing was written; free some space there';

translateErrors(WorkspaceFsError, error =>
  error.code === 'no_space'
    ? new InsufficientStorage(DISK_FULL)
    : new (ANSWERS[error.code] ?? Conflict)(error.message),
);

translateErrors(FileRefusal, ({ status, message, headers }) => new Problem(status, message, headers));

const ABSENT = { 404: 'No such workspace or path' };

/** The folder on disk is the truth; nothing is cached. */
@Injectable()
export class FilesService {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
    private readonly zips: FolderZips,
    private readonly trees: FileTrees,
    private readonly documents: DocumentTexts,
  ) {}

  @Action('file_list', {
    summary: 'List a folder',
    permission: 'file.read',
    input: ListFiles,
    output: FileListPage,
    tool: {
      name: 'list_files',
      title: 'List files',
      description: 'List a folder of a workspace; what is too long as a tree.',
      agents: {
        text: fileTexts.list,
        defaults: { limit: 200, ignored: false, tree: true },
        brief: 'List a folder; what is long as a tree (also takes sort=newest, ignored, limit).',
        told: { path: '', recursive: '' },
      },
    },
    cancellable: true,
    refuses: ABSENT,
  })
  async list(actor: Actor, input: ListFiles, signal?: AbortSignal): Promise<FileListPage> {
    const { recursive = false, ignored = true, sort = 'path', tree = false } = input;
    const { limit = DEFAULT_LIMIT } = input;
    const after = pathOfCursor(input.cursor);
    const workspace = await this.workspaces.require(actor, 'file.read', input.workspace_id);
    const files = this.folders.open(workspace);
    const path = await files.existing(input.path ?? '');
    const below = { path, recursive, ignored, limit, signal };
    if (sort === 'newest') return teaching(files, () => this.trees.newest(workspace, below), path);
    if (recursive && !ignored && after === undefined)
      return teaching(files, () => this.trees.tree(workspace, below), path);
    const { entries, next } = await teaching(files, () => files.list(path, { recursive, limit, after }));
    if (next !== null && tree && after === undefined) return this.trees.tree(workspace, below);
    return { items: entries, next_cursor: next === null ? null : cursorAfter(next) };
  }

  @Action('file_stat', 'GET /api/workspaces/:workspaceId/files/stat', {
    summary: 'Describe a file or folder',
    permission: 'file.read',
    input: StatFile,
    output: EntryView,
    refuses: ABSENT,
  })
  async stat(actor: Actor, { workspace_id, path }: StatFile): Promise<EntryView> {
    const files = await this.open(actor, workspace_id);
    return files.stat(await files.existing(path));
  }

  @Action('file_read', 'GET /api/workspaces/:workspaceId/files/content', {
    summary: 'Read a text file, or some lines of it, or an image',
    permission: 'file.read',
    input: ReadContent,
    output: ContentView,
    tool: {
      name: 'read_file',
      title: 'Read a file',
      description:
        'Read a text file, an image, a PDF or a notebook of a workspace, or some of the lines, each after its number and a tab, which are no part of it. ' +
        'A long file comes in parts: the last line says where to go on.',
      agents: {
        text: fileTexts.read,
        images: fileTexts.images,
        defaults: { rendered: true },
        brief: 'Read a file: text with line numbers, an image, a PDF, a notebook.',
        told: { path: '', start_line: '', end_line: '' },
      },
    },
    refuses: { ...ABSENT, 409: 'Neither text nor an image', 413: 'The lines lie beyond the first 32 MiB' },
  })
  async read(actor: Actor, input: ReadContent): Promise<ContentView> {
    const { workspace_id, start_line, end_line, rendered = false } = input;
    const files = await this.open(actor, workspace_id);
    const path = await files.existing(input.path);
    const work = async () =>
      (rendered ? await this.documents.read(files, { ...input, path }) : undefined) ??
      textOrImage(files, path, { start_line, end_line });
    const read = await teaching(files, work, path);
    actor.call?.known?.learned(read);
    return read;
  }

  @Action('file_download', {
    summary:
      'Download the raw bytes of a file, where ranges and conditional requests work, or a folder as a zip',
    permission: 'file.read',
    input: DownloadFile,
    output: EntryView,
    restOnly: true,
    refuses: { ...ABSENT, 304: 'Not changed', 409: 'Not a file', 416: 'No such range' },
  })
  async download(actor: Actor, { workspace_id, path }: DownloadFile): Promise<OpenFile> {
    const files = await this.open(actor, workspace_id);
    return files.openRead(await files.existing(path));
  }

  async downloadAny(actor: Actor, { workspace_id, path }: DownloadFile): Promise<OpenFile | ZippedFolder> {
    const workspace = await this.workspaces.require(actor, 'file.read', workspace_id);
    const files = this.folders.open(workspace);
    const at = await files.existing(path);
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
