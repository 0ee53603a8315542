import { Controller } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { escapeHtml } from '#libs/html/index.js';
import { shortName } from '#libs/plain-text/index.js';
import { type Actor, Public } from '../../platform/access/index.js';
import { Config } from '../../platform/config/index.js';
import { connectHtml, signedInAs } from '../../platform/pages/index.js';
import { InvitationPages } from '../acceptance-pages/index.js';
import { InvitedAccounts } from '../auth/index.js';
import { WorkspaceChoices } from '../oauth/index.js';
import { type OpenPage, PageSessions } from '../page-sessions/index.js';
import { AcceptanceService } from './acceptance.service.js';
import { InvitationsStore, type LookedAtInvitation } from './invitations.store.js';

const MAX_WORKSPACES = 200;

/** Where the link of an invitation into an organization leads: who invites whom, and a way in for each who may open it. */
@Public()
@ApiExcludeController()
@Controller('invitations/:token')
export class InvitationPagesController extends InvitationPages<LookedAtInvitation> {
  constructor(
    sessions: PageSessions,
    accounts: InvitedAccounts,
    private readonly config: Config,
    private readonly invitations: InvitationsStore,
    private readonly acceptance: AcceptanceService,
    private readonly workspaces: WorkspaceChoices,
  ) {
    super('invitations', sessions, accounts);
  }

  protected find(token: string) {
    return this.invitations.find(token);
  }

  protected take(
    person: Actor | null,
    { token, ...newcomer }: { token: string; name: string; password: string },
  ) {
    return this.acceptance.accept(person ?? undefined, person ? { token } : { token, ...newcomer });
  }

  protected refuse(token: string) {
    return this.acceptance.decline({ token });
  }

  protected offerOf({ email, role, ...invitation }: LookedAtInvitation) {
    const organization = shortName(invitation.organization_name);
    const inviter = shortName(invitation.invited_by_name ?? 'Somebody');
    return {
      title: `Join ${organization}`,
      says: [`${inviter} invites ${email} to work in ${organization} as ${role}.`],
    };
  }

  protected acceptedBy(opened: OpenPage, invitation: LookedAtInvitation) {
    const organization = shortName(invitation.organization_name);
    return {
      title: 'This invitation was accepted',
      text: `Sign in to see what there is for you in ${organization}.`,
      pageOf: async (person: Actor) => ({
        title: `You are in ${organization}`,
        body: `${await this.whatThereIs(person, invitation)}
${connectHtml(this.config.baseUrl, person.email ?? undefined)}
${signedInAs(opened, person.email ?? person.name)}`,
      }),
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
