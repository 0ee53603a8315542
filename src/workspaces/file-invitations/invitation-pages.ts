import { Injectable } from '@nestjs/common';
import {
  acceptFrom,
  noticePage,
  type Offer,
  offerPage,
  otherAccountHtml,
  signInToGoOn,
  type Tried,
} from '../../identity/acceptance-pages/index.js';
import { InvitedAccounts } from '../../identity/accounts/index.js';
import { type Front, Fronts } from '../../identity/page-sessions/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Config } from '../../platform/config/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { connectHtml, escapeHtml, type HtmlPage, sendPage, signedInAs } from '../../platform/pages/index.js';
import { plainName, shortName } from '../../platform/text/index.js';
import { FileInvitationsService } from './file-invitations.service.js';
import { FileInvitationsStore, type HeldInvitation } from './file-invitations.store.js';
import { InvitedFilesService } from './invited-files.service.js';

/** What there is to see and do at the link of a file invitation. */
@Injectable()
export class InvitationPages {
  constructor(
    private readonly config: Config,
    private readonly fronts: Fronts,
    private readonly accounts: InvitedAccounts,
    private readonly store: FileInvitationsStore,
    private readonly invitations: FileInvitationsService,
    private readonly files: InvitedFilesService,
  ) {}

  async show(front: Front, token: string): Promise<void> {
    const page = await this.pageOf(front, token);
    sendPage(front.reply, page, page.status);
  }

  async pageOf(front: Front, token: string, tried?: Tried): Promise<HtmlPage & { status?: number }> {
    const invitation = await this.store.findByToken(token);
    if (!invitation) return noticePage('unknown');
    if (invitation.accepted_by) return this.acceptedPage(front, invitation, tried);
    if (new Date(invitation.expires_at) <= new Date())
      return noticePage('expired', invitation.invited_by_name);
    return offerPage(front, await this.offerOf(invitation), tried);
  }

  async accept(front: Front, token: string, fields: URLSearchParams): Promise<void> {
    const { person } = front;
    await acceptFrom(this.fronts, front, fields, {
      accept: ({ name = '', password = '' }) =>
        person
          ? this.invitations.accept(person, { token })
          : this.invitations.register({ token, name, password }),
      ask: tried => this.pageOf(front, token, tried),
      stand: async () => {
        const held = await this.store.findByToken(token);
        return { email: held?.email ?? '', accepted: Boolean(held?.accepted_by) };
      },
    });
  }

  async decline(front: Front, token: string): Promise<void> {
    await this.invitations.decline({ token });
    sendPage(front.reply, noticePage('declined'));
  }

  private async offerOf({ path, email, role, invited_by_name }: HeldInvitation): Promise<Offer> {
    const what = whatOf(path);
    const inviter = shortName(invited_by_name ?? 'Somebody');
    return {
      title: `${inviter} shares ${what} with you`,
      says: [`You may ${mayOf(role)} it with the account of ${email}.`],
      email,
      account: await this.accounts.standingOf(email),
    };
  }

  private async acceptedPage(
    front: Front,
    invitation: HeldInvitation,
    tried?: Tried,
  ): Promise<HtmlPage & { status?: number }> {
    const { path, email, accepted_by, invited_by_name } = invitation;
    const { person } = front;
    const title = `${whatOf(path)} is shared with you`;
    if (!person)
      return signInToGoOn(front, { title, text: 'You accepted it. Sign in to see it.', email, tried });
    if (person.id !== accepted_by)
      return { title, body: otherAccountHtml(front, person.email ?? person.name, email) };
    if (!(await this.isOpen(person, invitation))) return noticePage('suspended', invited_by_name);
    return { title, body: this.whatThereIs(front, person, invitation) };
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

  private whatThereIs(front: Front, person: Actor, { id, role, invited_by_name }: HeldInvitation): string {
    const call = `curl ${this.config.baseUrl}/api/file-invitations/${id}/files \\
  -H 'Authorization: Bearer ACCESS_TOKEN'`;
    const email = person.email ?? person.name;
    return `<p>${escapeHtml(shortName(invited_by_name ?? 'Somebody'))} lets you ${mayOf(role)} it, for as long as they may do so themselves.</p>
<p><a class="button" href="${front.address}/files">Open the files</a></p>
${connectHtml(this.config.baseUrl, email)}
<p>What is shared with you:</p>
<pre class="facts copy"><code>${escapeHtml(call)}</code></pre>
${signedInAs(front, email)}`;
  }
}

const whatOf = (path: string): string => (path === '' ? 'a workspace' : `“${plainName(path)}”`);
const mayOf = (role: string): string => (role === 'editor' ? 'read and change' : 'read');
