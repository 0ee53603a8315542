import { Controller, Get, Inject, Param, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { hashSecret } from '../../../identity/index.js';
import { Public } from '../../../platform/access/access.js';
import { escapeHtml } from '../../../platform/http/html.js';
import { type HtmlPage, htmlDocument, htmlHeaders } from '../../../platform/http/html-page.js';
import { plainName } from '../pages/plain-name.js';
import { FileInvitationsStore, type OpenInvitation } from './file-invitations.store.js';

const GONE: HtmlPage = {
  title: 'There is no such invitation',
  body: '<p>It was withdrawn or accepted already, its time is over, or the link is mistyped. Ask whoever invited you for a new one.</p>',
};

/** Where the link of a file invitation leads: who invites whom, and how to accept. Opening it changes nothing. */
@Public()
@ApiExcludeController()
@Controller()
export class InvitationPageController {
  constructor(@Inject(FileInvitationsStore) private readonly invitations: FileInvitationsStore) {}

  @Get('/file-invitations/:token')
  async show(@Param('token') token: string, @Res() reply: FastifyReply): Promise<void> {
    const invitation = await this.invitations.findOpen(hashSecret(token));
    const page = invitation ? pageOf(invitation, token) : GONE;
    void reply
      .status(invitation ? 200 : 404)
      .headers(htmlHeaders(page))
      .send(htmlDocument(page));
  }
}

function pageOf({ path, email, role, invited_by_name }: OpenInvitation, token: string): HtmlPage {
  const name = plainName(path) || 'a workspace';
  const may = role === 'editor' ? 'read and change' : 'read';
  return {
    title: `${invited_by_name ?? 'Somebody'} shares “${name}” with you`,
    body: `<p>You may ${may} it with the account of ${escapeHtml(email)}.</p>
<p>Signed in with that account, accept it by <code>POST /api/file-invitations/${encodeURIComponent(token)}/accept</code>.</p>
<p class="aside">If you expected nothing, ignore this: nothing changes until you accept.</p>`,
  };
}
