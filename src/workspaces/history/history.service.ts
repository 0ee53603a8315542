import { Injectable } from '@nestjs/common';
import { isText } from '#libs/git-history/index.js';
import type { Preconditions } from '#libs/http-files/index.js';
import { workspacePath } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { iso } from '../../platform/database/index.js';
import { type Page, readPage } from '../../platform/dto/index.js';
import { Conflict, Gone, Unavailable } from '../../platform/errors/index.js';
import { FileWriter, writerFor } from '../changes/index.js';
import { type VisibleWorkspace, WorkspaceFolders, WorkspacesStore } from '../core/index.js';
import { WrittenView } from '../files/index.js';
import type { VersionRow } from './draft.js';
import { GitStore } from './git-store.js';
import {
  DiffVersions,
  DiffView,
  ListHistory,
  RestoreFile,
  VersionContentView,
  VersionId,
  VersionPage,
  VersionView,
} from './history.dto.js';
import { HistoryCapture } from './history-capture.js';
import { VersionReadsStore } from './version-reads.store.js';

const MAX_SHOWN = 1024 * 1024;
const NO_HISTORY = { 503: 'This machine has no git, or no sandbox to run it in' };
const ABSENT = { 404: 'No such workspace or version', ...NO_HISTORY };

const CONTENT_GONE = 'The content of this version is not kept any more';

const NOT_KEPT: Record<NonNullable<VersionRow['unkept']>, string> = {
  deleted: 'This version says that the file was deleted; choose the one before it',
  too_large: 'The content of this version is not kept because the file was too large',
  overwritten: 'The content of this version is not kept because it was written over at once',
  full: 'The content of this version is not kept because the history of the workspace had no room',
};

@Injectable()
export class HistoryService {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
    private readonly capture: HistoryCapture,
    private readonly versions: VersionReadsStore,
    private readonly git: GitStore,
    private readonly writer: FileWriter,
  ) {}

  @Action('file_version_list', 'GET /api/workspaces/:workspaceId/files/history', {
    summary: 'List the versions of a file, of what a folder holds, or of the whole workspace, newest first',
    permission: 'file.read',
    input: ListHistory,
    output: VersionPage,
    refuses: ABSENT,
  })
  async list(actor: Actor, input: ListHistory): Promise<Page<VersionView>> {
    const { workspace_id, path = '', run_id: runId, ...asked } = input;
    await this.workspaces.require(actor, 'file.read', workspace_id);
    await this.capture.upToDate(workspace_id);
    const page = await readPage({ by: 'seq', kind: 'number' }, asked, ({ after: before, limit }) =>
      this.versions.list(workspace_id, { path: workspacePath(path), runId, before, limit }),
    );
    return { ...page, items: page.items.map(versionView) };
  }

  @Action('file_version_read', 'GET /api/workspaces/:workspaceId/files/history/:version', {
    summary: 'Read a version of a file: who made it, and its text',
    permission: 'file.read',
    input: VersionId,
    output: VersionContentView,
    refuses: { ...ABSENT, 410: 'Its content is not kept any more' },
  })
  async read(actor: Actor, { workspace_id, version }: VersionId): Promise<VersionContentView> {
    const workspace = await this.workspaces.require(actor, 'file.read', workspace_id);
    const row = await this.versions.require(workspace.id, version);
    const view = versionView(row);
    if (row.blob === null) return { ...view, content: null, binary: null };
    const bytes = await this.contentOf(workspace, row);
    const binary = !isText(bytes);
    const isShown = !binary && bytes.byteLength <= MAX_SHOWN;
    return { ...view, content: isShown ? bytes.toString('utf8') : null, binary };
  }

  @Action('file_version_download', {
    summary: 'Download the raw bytes of a version of a file',
    permission: 'file.read',
    input: VersionId,
    output: VersionView,
    restOnly: true,
    refuses: { ...ABSENT, 409: 'Its content was not kept', 410: 'Its content is not kept any more' },
  })
  async download(
    actor: Actor,
    { workspace_id, version }: VersionId,
  ): Promise<{ path: string; bytes: Buffer }> {
    const workspace = await this.workspaces.require(actor, 'file.read', workspace_id);
    const row = await this.versions.require(workspace.id, version);
    return { path: row.path, bytes: await this.contentOf(workspace, row) };
  }

  @Action('file_version_diff', 'GET /api/workspaces/:workspaceId/files/history/:version/diff', {
    summary: 'Compare a version of a file with the one before it, or with another',
    permission: 'file.read',
    input: DiffVersions,
    output: DiffView,
    refuses: { ...ABSENT, 409: 'The content of one was not kept', 410: 'It is not kept any more' },
  })
  async diff(actor: Actor, { workspace_id, version, against }: DiffVersions): Promise<DiffView> {
    const workspace = await this.workspaces.require(actor, 'file.read', workspace_id);
    const after = await this.versions.require(workspace.id, version);
    const before = await this.before(after, against);
    const found = await this.git.of(workspace).diff(sideOf(before), sideOf(after));
    if (found === 'timeout')
      throw new Unavailable('Comparing these two takes too long; download both instead');
    if (found === 'missing') throw new Gone(CONTENT_GONE);
    return { path: after.path, version, against: before?.id ?? null, ...found };
  }

  @Action('file_restore', {
    summary: 'Put an earlier version of a file back, as a new version',
    effect: 'write',
    permission: 'file.write',
    input: RestoreFile,
    output: WrittenView,
    evidence: 'read the path, or its history',
    refuses: {
      ...ABSENT,
      409: 'The content was not kept, or something else is at the path',
      410: 'The content is not kept any more',
      412: 'The precondition failed',
      413: 'The workspace has no room for it',
    },
  })
  async restore(
    actor: Actor,
    { workspace_id, path, version }: RestoreFile,
    preconditions: Preconditions = {},
  ): Promise<WrittenView> {
    const workspace = await this.workspaces.require(actor, 'file.write', workspace_id);
    const row = await this.versions.require(workspace.id, version);
    const content = await this.contentOf(workspace, row);
    const files = this.folders.open(workspace);
    const where = { workspaceId: workspace_id, files, path: workspacePath(path), writer: writerFor(actor) };
    const options = { ...preconditions, executable: row.executable };
    const { entry, created } = await this.writer.write(where, content, options);
    return { ...entry, created };
  }

  /** What a version is compared with; undefined: nothing was there. */
  private async before(after: VersionRow, against: string | undefined): Promise<VersionRow | undefined> {
    if (against !== undefined) return this.versions.require(after.workspace_id, against);
    const moved = await this.versions.beforeMove(after);
    if (moved) return moved;
    if (after.previous_id !== null) return this.versions.find(after.workspace_id, after.previous_id);
    if (after.replaced) throw new Gone('The version before this one is not kept any more');
    return undefined;
  }

  private async contentOf(workspace: VisibleWorkspace, row: VersionRow): Promise<Buffer> {
    const blob = blobOf(row);
    if (blob === null) throw new Conflict(NOT_KEPT.deleted);
    await this.git.require();
    for await (const bytes of this.git.of(workspace).read([blob])) if (bytes) return bytes;
    throw new Gone(CONTENT_GONE);
  }
}

/** Null: no file in this version. */
function blobOf(row: VersionRow | undefined): string | null {
  if (!row || row.unkept === 'deleted') return null;
  if (row.unkept !== null) throw new Conflict(NOT_KEPT[row.unkept]);
  return row.blob;
}

function sideOf(row: VersionRow | undefined): { path: string; blob: string } | null {
  const blob = blobOf(row);
  return row && blob !== null ? { path: row.path, blob } : null;
}

export function versionView(row: VersionRow): VersionView {
  const { id, path, kind, from_path: from, etag, unkept, run_id, writer_type, writer_id } = row;
  return {
    id,
    path,
    kind,
    from,
    etag,
    run_id,
    size: row.size === null ? null : Number(row.size),
    kept: unkept === null,
    not_kept_because: unkept,
    previous: row.previous_id,
    writer: writer_type === null || writer_id === null ? null : { type: writer_type, id: writer_id },
    time: iso(row.changed_at),
  };
}
