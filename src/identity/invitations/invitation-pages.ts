import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Config } from '../../platform/config/index.js';
import {
  connectHtml,
  escapeHtml,
  type HtmlPage,
  sendOn,
  sendPage,
  signedInAs,
} from '../../platform/pages/index.js';
import { shortName } from '../../platform/text/index.js';
import {
  acceptFrom,
  type NoticeOf,
  noticePage,
  type Offer,
  offerPage,
  otherAccountHtml,
  signInToGoOn,
  type Tried,
} from '../acceptance-pages/index.js';
import { InvitedAccounts } from '../accounts/index.js';
import { WorkspaceChoices } from '../oauth/index.js';
import { type Front, Fronts } from '../page-sessions/index.js';
import { AcceptanceService } from './acceptance.service.js';
import { InvitationsStore, type LookedAtInvitation } from './invitations.store.js';

const MAX_WORKSPACES = 200;

/** What there is to see and do at the link of an invitation into an organization. */
@Injectable()
export class InvitationPages {
  constructor(
    private readonly config: Config,
    private readonly invitations: InvitationsStore,
    private readonly acceptance: AcceptanceService,
    private readonly fronts: Fronts,
    private readonly accounts: InvitedAccounts,
    private readonly workspaces: WorkspaceChoices,
  ) {}

  async show(front: Front, token: string): Promise<void> {
    const page = await this.pageOf(front, token);
    sendPage(front.reply, page, page.status);
  }

  async pageOf(front: Front, token: string, tried?: Tried): Promise<HtmlPage & { status?: number }> {
    const invitation = await this.invitations.find(token);
    if (!invitation) return noticePage('unknown');
    if (invitation.status === 'pending') return offerPage(front, await this.offerOf(invitation), tried);
    if (invitation.status === 'accepted') return this.acceptedPage(front, invitation, tried);
    return noticePage(invitation.status as NoticeOf, invitation.invited_by_name);
  }

  async accept(front: Front, token: string, fields: URLSearchParams): Promise<void> {
    await acceptFrom(this.fronts, front, fields, {
      accept: newcomer => this.acceptance.accept(front.person, { token, ...newcomer }),
      ask: tried => this.pageOf(front, token, tried),
      stand: async () => {
        const { email, status } = await this.invitations.look(token);
        return { email, accepted: status === 'accepted' };
      },
    });
  }

  async decline(front: Front, token: string): Promise<void> {
    await this.acceptance.decline({ token });
    sendOn(front.reply, front.address);
  }

  private async offerOf(invitation: LookedAtInvitation): Promise<Offer> {
    const { email, role } = invitation;
    const organization = shortName(invitation.organization_name);
    const inviter = shortName(invitation.invited_by_name ?? 'Somebody');
    return {
      title: `Join ${organization}`,
      says: [`${inviter} invites ${email} to work in ${organization} as ${role}.`],
      email,
      account: await this.accounts.standingOf(email),
    };
  }

  private async acceptedPage(front: Front, invitation: LookedAtInvitation, tried?: Tried): Promise<HtmlPage> {
    const { accepted_by, email } = invitation;
    const { person } = front;
    const organization = shortName(invitation.organization_name);
    if (!person)
      return signInToGoOn(front, {
        title: 'This invitation was accepted',
        text: `Sign in to see what there is for you in ${organization}.`,
        email,
        tried,
      });
    if (person.id !== accepted_by)
      return {
        title: 'This invitation was accepted',
        body: otherAccountHtml(front, person.email ?? person.name, email),
      };
    return {
      title: `You are in ${organization}`,
      body: `${await this.whatThereIs(person, invitation)}
${connectHtml(this.config.baseUrl, person.email ?? undefined)}
${signedInAs(front, person.email ?? person.name)}`,
    };
  }

  private async whatThereIs(person: Actor, { organization_id, role }: LookedAtInvitation): Promise<string> {
    const visible = await this.workspaces.of(person, MAX_WORKSPACES);
    const here = visible.filter(each => each.organization_id === organization_id);
    const names = here.map(({ name }) => `<li>${escapeHtml(shortName(name))}</li>`).join('');
    const list =
      here.length > 0
        ? `<p>These workspaces are open to you:</p><ul>${names}</ul>`
        : `<p>No workspace is open to you yet: ${NONE[role] ?? NONE.member}</p>`;
    return `<p>You joined as ${escapeHtml(role)}.</p>${list}`;
  }
}

const NONE: Record<string, string> = {
  guest: 'guests see the workspaces that they are added to.',
  member: 'make one, or ask to be added to one.',
};
