import { Injectable, OnModuleInit } from '@nestjs/common';
import { shortName } from '#libs/plain-text/index.js';
import { audited } from '../../../platform/audit/index.js';
import { Notifier } from '../delivery/index.js';
import { SourcesStore } from './sources.store.js';

/** Who is invited to an organization, and who came. */
@Injectable()
export class InvitationsSource implements OnModuleInit {
  constructor(
    private readonly notifier: Notifier,
    private readonly store: SourcesStore,
  ) {}

  onModuleInit(): void {
    this.notifier.on(
      audited,
      'invitation.received',
      async ({ target_id, organization_id, details }) => {
        const name = organization_id && (await this.store.organizationName(organization_id));
        const person = await this.store.personWith(String(details?.email));
        if (!name || !person) return undefined;
        return {
          audience: { people: [person] },
          // They are no member yet.
          organization_id: null,
          workspace_id: null,
          about: target_id,
          title: `You are invited to ${shortName(name)}`,
          body: 'The link by which you join is in the invitation, in your mail.',
          data: { invitation_id: target_id, invited_to: organization_id },
        };
      },
      ({ action }) => action === 'invitation.create',
    );
    this.notifier.on(
      audited,
      'invitation.accepted',
      async ({ target_id, organization_id, details }) => {
        const inviter = await this.store.inviterOf(target_id);
        if (!inviter) return undefined;
        return {
          audience: { people: [inviter] },
          organization_id,
          workspace_id: null,
          about: target_id,
          title: `${shortName(String(details?.email))} accepted your invitation`,
          body: `They are in the organization now, as ${String(details?.role)}.`,
          data: { invitation_id: target_id },
        };
      },
      ({ action }) => action === 'invitation.accept',
    );
  }
}
