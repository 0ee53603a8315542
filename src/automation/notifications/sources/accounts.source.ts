import { Injectable, OnModuleInit } from '@nestjs/common';
import { shortName } from '#libs/plain-text/index.js';
import { signedIn } from '../../../identity/sessions/index.js';
import { type AuditFacts, audited } from '../../../platform/audit/index.js';
import { type Notice, Notifier } from '../delivery/index.js';
import type { TypeName } from '../types/index.js';
import { SourcesStore } from './sources.store.js';

const UNEXPECTED =
  'If it was not you, change your password, which ends all sign-ins, and look at your keys and applications.';

/** What concerns the security of one account: who signs in, and what may act for it. Its owner is notified. */
const CHANGES: readonly { type: TypeName; actions: readonly string[]; title: string; isOwn?: true }[] = [
  {
    type: 'security.key_created',
    actions: ['key.create', 'key.rotate'],
    title: 'An API key for your account was made',
    isOwn: true,
  },
  {
    type: 'security.access_granted',
    actions: ['grant_create'],
    title: 'An application was let in to your account',
    isOwn: true,
  },
  {
    type: 'security.password_changed',
    actions: ['account_change_password', 'account_reset_password', 'account_set_password'],
    title: 'The password of your account was changed',
  },
  {
    type: 'security.email_changed',
    actions: ['account_change_email'],
    title: 'The e-mail address of your account was changed',
  },
];

@Injectable()
export class AccountsSource implements OnModuleInit {
  constructor(
    private readonly notifier: Notifier,
    private readonly store: SourcesStore,
  ) {}

  onModuleInit(): void {
    for (const { type, actions, title, isOwn } of CHANGES)
      this.notifier.on(
        audited,
        type,
        async facts => {
          const person = isOwn ? facts.actor_id : facts.target_id;
          const name = nameIn(facts);
          return person === null
            ? undefined
            : noticeTo(person, facts.id, title, name && `It is called “${name}”.`);
        },
        // The key of a service account is no key for the account of who made it.
        ({ action, details }) => actions.includes(action) && !details?.service_account_id,
      );
    this.notifier.on(signedIn, 'security.signed_in', async ({ id, user_id, user_agent, address }) => {
      if (!(await this.store.isNewProgram({ id, user_id, user_agent }))) return undefined;
      const program = user_agent ? shortName(user_agent, 200) : 'a program that does not say what it is';
      return noticeTo(
        user_id,
        id,
        'Somebody signed in to your account',
        `It was from ${address}, with ${program}.`,
      );
    });
  }
}

function nameIn({ details = {} }: AuditFacts): string | undefined {
  const name = details.name ?? details.client_name;
  return typeof name === 'string' ? shortName(name) : undefined;
}

const noticeTo = (person: string, about: string, title: string, what?: string): Notice => ({
  audience: { people: [person] },
  organization_id: null,
  workspace_id: null,
  about,
  title,
  body: what ? `${what} ${UNEXPECTED}` : UNEXPECTED,
  data: {},
});
