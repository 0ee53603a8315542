import { Injectable } from '@nestjs/common';
import {
  type Entry,
  parentOf,
  type WorkspaceFs,
  WorkspaceFsError,
  workspacePath,
} from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import {
  changeOf,
  changesTo,
  deletionsOf,
  entriesAt,
  manifestOf,
  movesOf,
  RecordedWrites,
  WorkspaceQuota,
  writerFor,
} from '../changes/index.js';
import { WorkspaceFolders, WorkspacesStore } from '../core/index.js';
import { CopiedView, DeletedPathView, DeleteFile, EntryView, MakeFolder, MoveFile } from './files.dto.js';

const ABSENT = { 404: 'No such workspace or path' };

@Injectable()
export class FileTreeService {
  constructor(
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
    private readonly writes: RecordedWrites,
    private readonly quota: WorkspaceQuota,
  ) {}

  @Action('file_move', 'POST /api/workspaces/:workspaceId/files/move', {
    summary: 'Move or rename a file or folder',
    effect: 'write',
    permission: 'file.write',
    input: MoveFile,
    output: EntryView,
    evidence: 'read the path, or its history',
    refuses: {
      ...ABSENT,
      409: 'Something is at the destination, or the workspace may not have more folders',
    },
  })
  async move(actor: Actor, { workspace_id, from, to, overwrite }: MoveFile): Promise<EntryView> {
    const files = await this.open(actor, workspace_id);
    const origin = await files.existing(from);
    const { etag } = await files.stat(origin);
    return this.makingFolders(workspace_id, files, parentOf(workspacePath(to)), () =>
      this.writes.run(workspace_id, writerFor(actor), async ({ begin }) => {
        const path = workspacePath(to);
        const before = manifestOf(await everythingAt(files, path));
        await begin([{ path, from: origin, etag: etag ?? undefined, before }]);
        const moved = await files.move(origin, path, { overwrite });
        const now = await entriesAt(files, moved);
        return { result: moved, changes: [...deletionsOf(before, now), ...movesOf(now, origin, path)] };
      }),
    );
  }

  @Action('file_copy', 'POST /api/workspaces/:workspaceId/files/copy', {
    summary: 'Copy a file or folder',
    effect: 'write',
    permission: 'file.write',
    input: MoveFile,
    output: CopiedView,
    evidence: 'read the path, or its history',
    refuses: { ...ABSENT, 409: 'Something is at the destination' },
  })
  async copy(actor: Actor, { workspace_id, from, to, overwrite }: MoveFile): Promise<CopiedView> {
    const files = await this.open(actor, workspace_id);
    const origin = await files.existing(from);
    const originals = await entriesAt(files, await files.stat(origin));
    const replaced = overwrite ? await everythingAt(files, to) : [];
    const missing = await files.countMissing(parentOf(workspacePath(to)));
    const room = {
      bytes: originals.reduce((sum, { size }) => sum + size, 0),
      files: Math.max(0, missing + originals.filter(isKept).length - replaced.length),
    };
    return this.quota.during(workspace_id, room, () =>
      this.writes.run(workspace_id, writerFor(actor), async ({ begin }) => {
        const path = workspacePath(to);
        const before = manifestOf(await everythingAt(files, path));
        await begin([{ path, before }]);
        const copied = await files.copy(origin, path, { overwrite });
        const now = await entriesAt(files, copied);
        return { result: copied, changes: [...deletionsOf(before, now), ...changesTo(now, before)] };
      }),
    );
  }

  @Action('folder_create', 'POST /api/workspaces/:workspaceId/files/mkdir', {
    summary: 'Make a folder and those above it; one that is there is fine',
    effect: 'write',
    permission: 'file.write',
    input: MakeFolder,
    output: EntryView,
    evidence: 'read the path, or its history',
    refuses: { ...ABSENT, 409: 'A file is at the path, or the workspace may not have more folders' },
  })
  async mkdir(actor: Actor, { workspace_id, path }: MakeFolder): Promise<EntryView> {
    const files = await this.open(actor, workspace_id);
    if (await files.find(path)) return files.mkdir(path);
    return this.makingFolders(workspace_id, files, path, () =>
      this.writes.run(workspace_id, writerFor(actor), async ({ begin }) => {
        await begin([{ path: workspacePath(path), before: [] }]);
        const made = await files.mkdir(path);
        return { result: made, changes: [changeOf(made, true)] };
      }),
    );
  }

  @Action('file_delete', 'DELETE /api/workspaces/:workspaceId/files', {
    summary: 'Delete a file or folder',
    consequence:
      'The history keeps the contents of most files for a while, and they can be put back from there; empty folders, links and what the history leaves out are gone for good.',
    permission: 'file.write',
    input: DeleteFile,
    output: DeletedPathView,
    refuses: { ...ABSENT, 409: 'The folder is not empty' },
  })
  async remove(actor: Actor, input: DeleteFile): Promise<DeletedPathView> {
    const { workspace_id, recursive } = input;
    const files = await this.open(actor, workspace_id);
    const path = await files.existing(input.path);
    const entries = await entriesAt(files, await files.stat(path));
    return this.writes.run(workspace_id, writerFor(actor), async ({ begin }) => {
      const before = manifestOf(entries);
      if (entries.length > 1 && !recursive) throw new WorkspaceFsError('not_empty', path);
      await begin([{ path, before }]);
      await files.remove(path, { recursive });
      return { result: { path, deleted: true }, changes: deletionsOf(before, []) };
    });
  }

  private async open(actor: Actor, id: string): Promise<WorkspaceFs> {
    return this.folders.open(await this.workspaces.require(actor, 'file.write', id));
  }

  /** Reserves room for the missing folders of a path. */
  private async makingFolders<T>(
    workspaceId: string,
    files: WorkspaceFs,
    folder: string,
    write: () => Promise<T>,
  ): Promise<T> {
    const missing = await files.countMissing(folder);
    return missing > 0 ? this.quota.during(workspaceId, { bytes: 0, files: missing }, write) : write();
  }
}

const isKept = ({ type }: Entry): boolean => type === 'file' || type === 'directory';

async function everythingAt(files: WorkspaceFs, path: string): Promise<Entry[]> {
  const there = await files.find(path);
  return there ? entriesAt(files, there) : [];
}
