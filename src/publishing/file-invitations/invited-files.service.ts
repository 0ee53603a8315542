import { Injectable } from '@nestjs/common';
import type { ReceivedBody } from '#libs/fastify-hardening/index.js';
import type { Preconditions } from '#libs/http-files/index.js';
import { type Entry, normalizePath, type OpenFile, type WorkspaceFs } from '#libs/workspace-fs/index.js';
import { type Actor, requireScope } from '../../platform/access/index.js';
import { Action, Subject } from '../../platform/actions/index.js';
import { DEFAULT_LIMIT, type Page } from '../../platform/dto/index.js';
import { Forbidden } from '../../platform/errors/index.js';
import { WorkspaceFolders } from '../../workspaces/core/index.js';
import {
  cursorAfter,
  EntryPage,
  EntryView,
  pathOfCursor,
  WrittenView,
} from '../../workspaces/files/index.js';
import { isHidden, OutsideWrites, pathBelow } from '../exposure/index.js';
import { InvitedPath, ListInvitedFiles } from './file-invitations.dto.js';
import { FileInvitationsStore, type InvitationRow } from './file-invitations.store.js';

const ABSENT = { 404: 'No such invitation or path' };

/** Files of an accepted invitation. Paths are relative to what is shared; nothing else is reachable. */
@Injectable()
export class InvitedFilesService {
  constructor(
    private readonly invitations: FileInvitationsStore,
    private readonly folders: WorkspaceFolders,
    private readonly writes: OutsideWrites,
  ) {}

  @Action('invited_file_list', 'GET /api/file-invitations/:id/files', {
    on: { id: 'invited_file' },
    summary: 'List a folder that was shared with the caller; what was shared as a file is the one entry',
    permission: 'file.read',
    input: ListInvitedFiles,
    output: EntryPage,
    refuses: ABSENT,
  })
  async list(actor: Actor, input: ListInvitedFiles): Promise<Page<EntryView>> {
    const { id, path: within = '', limit = DEFAULT_LIMIT } = input;
    const { files, shared } = await this.open(actor, 'file.read', id);
    const after = pathOfCursor(input.cursor);
    const entry = await files.stat(pathBelow(shared, within));
    if (entry.type === 'file') return { items: [below(entry, shared)], next_cursor: null };
    const from = after === undefined ? undefined : pathBelow(shared, after);
    const seen = await visibleEntries(files, { folder: entry.path, shared, after: from, most: limit + 1 });
    const items = seen.slice(0, limit);
    const last = items.at(-1);
    // Not the next name, which may be hidden.
    return { items, next_cursor: last && seen.length > limit ? cursorAfter(last.path) : null };
  }

  @Action('invited_file_download', {
    on: { id: 'invited_file' },
    summary: 'Download the raw bytes of a file that was shared with the caller',
    permission: 'file.read',
    input: InvitedPath,
    output: EntryView,
    restOnly: true,
    refuses: { ...ABSENT, 304: 'Not changed', 409: 'Not a file', 416: 'No such range' },
  })
  async download(actor: Actor, { id, path = '' }: InvitedPath): Promise<OpenFile> {
    const { files, shared } = await this.open(actor, 'file.read', id);
    return files.openRead(pathBelow(shared, path));
  }

  @Action('invited_file_upload', {
    on: { id: 'invited_file' },
    summary: 'Write a file that was shared with the caller for editing, or one in a folder that was',
    effect: 'write',
    permission: 'file.write',
    input: InvitedPath,
    output: WrittenView,
    restOnly: true,
    refuses: {
      ...ABSENT,
      409: 'Something else is at the path',
      412: 'The precondition failed',
      413: 'Too large',
    },
  })
  async upload(
    actor: Actor,
    { id, path = '' }: InvitedPath,
    { bytes, ...facts }: ReceivedBody,
    preconditions: Preconditions = {},
  ): Promise<WrittenView> {
    const { files, shared, invitation } = await this.open(actor, 'file.write', id);
    if (invitation.role !== 'editor') throw new Forbidden('This was shared with you for reading only');
    const where = { workspaceId: invitation.workspace_id, files, path: pathBelow(shared, path) };
    const writer = { type: 'user', id: actor.id } as const;
    const options = { ...facts, ...preconditions };
    const { entry, created } = await this.writes.write({ ...where, writer }, bytes, options);
    return { ...below(entry, shared), created };
  }

  @Subject('invited_file', 'workspace', ({ invitation }: Opened) => ({
    organization_id: null,
    workspace_id: invitation.workspace_id,
  }))
  private async open(actor: Actor, permission: 'file.read' | 'file.write', id: string): Promise<Opened> {
    requireScope(actor, permission);
    const invitation = await this.invitations.requireAccepted(actor, id);
    const { workspace_id, workspace_number: number, path: shared } = invitation;
    return { invitation, shared, files: this.folders.open({ id: workspace_id, number }) };
  }
}

interface Opened {
  readonly invitation: InvitationRow;
  readonly shared: string;
  readonly files: WorkspaceFs;
}

async function visibleEntries(
  files: WorkspaceFs,
  { folder, shared, most, after }: { folder: string; shared: string; most: number; after?: string },
): Promise<Entry[]> {
  const visible: Entry[] = [];
  for (let from = after; visible.length < most; ) {
    const { entries, next } = await files.list(folder, { limit: most, after: from });
    visible.push(...entries.map(one => below(one, shared)).filter(({ path }) => !isHidden(path)));
    if (next === null) break;
    from = next;
  }
  return visible.slice(0, most);
}

const below = (entry: Entry, shared: string): Entry => ({ ...entry, path: cutOff(entry.path, shared) });

const cutOff = (path: string, shared: string): string =>
  shared === '' ? path : normalizePath(path.slice(shared.length));
