import { Injectable } from '@nestjs/common';
import { type Entry, normalizePath } from '#libs/workspace-fs/index.js';
import type { Front } from '../../identity/page-sessions/index.js';
import { sendOn } from '../../platform/pages/index.js';
import { plainName } from '../../platform/text/index.js';
import { sendSharePage } from '../exposure/index.js';
import { sendFile } from '../files/index.js';
import { folderPage, sortOf } from '../share/index.js';
import { FileInvitationsStore } from './file-invitations.store.js';
import { InvitedFilesService } from './invited-files.service.js';

const MAX_ENTRIES = 2000;

/**
 * Files of an accepted invitation, for the person who accepted it and is signed in at this browser. Folders are shown, files
 * are sent to be saved: what others wrote is never shown as a page of this host, whose cookies it could use.
 */
@Injectable()
export class InvitedFilesPages {
  constructor(
    private readonly store: FileInvitationsStore,
    private readonly files: InvitedFilesService,
  ) {}

  async show(front: Front, token: string): Promise<void> {
    const { request, reply, person, address } = front;
    const invitation = await this.store.findByToken(token);
    if (!invitation || !person || invitation.accepted_by !== person.id) {
      sendOn(reply, address);
      return;
    }
    const { id, path } = invitation;
    const within = normalizePath(String((request.params as Record<string, string>)['*'] ?? ''));
    const { items, next_cursor } = await this.files.list(person, { id, path: within, limit: MAX_ENTRIES });
    const [first] = items;
    if (items.length === 1 && first?.type === 'file' && first.path === within) {
      await sendFile(request, reply, await this.files.download(person, { id, path: within }), false);
      return;
    }
    const { sort } = request.query as Record<string, unknown>;
    const page = folderPage({
      place: { home: `${address}/files`, name: plainName(path) || 'Workspace', within },
      entries: items as Entry[],
      cut: next_cursor !== null,
      sort: sortOf(sort),
      savable: false,
    });
    sendSharePage(reply, { ...page, headers: { 'referrer-policy': 'no-referrer' } });
  }
}
