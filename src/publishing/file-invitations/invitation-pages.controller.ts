import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { escapeHtml } from '#libs/html/index.js';
import { sendFile } from '#libs/http-files/index.js';
import { plainName, shortName } from '#libs/plain-text/index.js';
import { type Entry, normalizePath } from '#libs/workspace-fs/index.js';
import { InvitationPages, noticePage } from '../../identity/acceptance-pages/index.js';
import { InvitedAccounts } from '../../identity/auth/index.js';
import { type OpenPage, PageSessions } from '../../identity/page-sessions/index.js';
import { type Actor, Public } from '../../platform/access/index.js';
import { Config } from '../../platform/config/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { connectHtml, sendOn, signedInAs } from '../../platform/pages/index.js';
import { sendSharePage } from '../exposure/index.js';
import { folderPage, readSort } from '../share/index.js';
import { FileInvitationsService } from './file-invitations.service.js';
import { FileInvitationsStore, type HeldInvitation } from './file-invitations.store.js';
import { InvitedFilesService } from './invited-files.service.js';

const MAX_ENTRIES = 2000;

/** Where the link of a file invitation leads: who shares what, a way in for each who may open it, and then the files. */
@Public()
@ApiExcludeController()
@Controller('file-invitations/:token')
export class FileInvitationPagesController extends InvitationPages<HeldInvitation> {
  constructor(
    sessions: PageSessions,
    accounts: InvitedAccounts,
    private readonly config: Config,
    private readonly store: FileInvitationsStore,
    private readonly invitations: FileInvitationsService,
    private readonly files: InvitedFilesService,
  ) {
    super('file-invitations', sessions, accounts);
  }

  @Get(['files', 'files/path/*'])
  browse(@Param('token') token: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    return this.sessions.show(request, reply, this.addressOf(token), opened => this.showFiles(opened, token));
  }

  protected find(token: string) {
    return this.store.findByToken(token);
  }

  protected take(person: Actor | null, newcomer: { token: string; name: string; password: string }) {
    if (!person) return this.invitations.register(newcomer);
    return this.invitations.accept(person, { token: newcomer.token });
  }

  protected refuse(token: string) {
    return this.invitations.decline({ token });
  }

  protected offerOf({ path, email, role, invited_by_name }: HeldInvitation) {
    return {
      title: `${shortName(invited_by_name ?? 'Somebody')} shares ${whatOf(path)} with you`,
      says: [`You may ${mayOf(role)} it with the account of ${email}.`],
    };
  }

  protected acceptedBy(opened: OpenPage, invitation: HeldInvitation) {
    const title = `${whatOf(invitation.path)} is shared with you`;
    return {
      title,
      text: 'You accepted it. Sign in to see it.',
      pageOf: async (person: Actor) =>
        (await this.isOpen(person, invitation))
          ? { title, body: this.whatThereIs(opened, person, invitation) }
          : noticePage('suspended', invitation.invited_by_name),
    };
  }

  /**
   * The files, for the person who accepted and is signed in at this browser. Folders are shown, files are sent to be saved:
   * what others wrote is never shown as a page of this host, whose cookies it could use.
   */
  private async showFiles(opened: OpenPage, token: string): Promise<void> {
    const { request, reply, person, address } = opened;
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
      location: { home: `${address}/files`, name: plainName(path) || 'Workspace', within },
      entries: items as Entry[],
      cut: next_cursor !== null,
      sort: readSort(sort),
      savable: false,
    });
    sendSharePage(reply, { ...page, headers: { 'referrer-policy': 'no-referrer' } });
  }

  private async isOpen(person: Actor, { id }: HeldInvitation): Promise<boolean> {
    try {
      await this.files.list(person, { id, limit: 1 });
      return true;
    } catch (error) {
      if (problemOf(error)?.status === 404) return false;
      throw error;
    }
  }

  private whatThereIs(
    opened: OpenPage,
    person: Actor,
    { id, role, invited_by_name }: HeldInvitation,
  ): string {
    const call = `curl ${this.config.baseUrl}/api/file-invitations/${id}/files \\
  -H 'Authorization: Bearer ACCESS_TOKEN'`;
    const email = person.email ?? person.name;
    return `<p>${escapeHtml(shortName(invited_by_name ?? 'Somebody'))} lets you ${mayOf(role)} it, for as long as they may do so themselves.</p>
<p><a class="button" href="${opened.address}/files">Open the files</a></p>
${connectHtml(this.config.baseUrl, email)}
<p>What is shared with you:</p>
<pre class="facts copy"><code>${escapeHtml(call)}</code></pre>
${signedInAs(opened, email)}`;
  }
}

const whatOf = (path: string): string => (path === '' ? 'a workspace' : `“${plainName(path)}”`);
const mayOf = (role: string): string => (role === 'editor' ? 'read and change' : 'read');
