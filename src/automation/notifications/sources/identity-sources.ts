import { shortName } from '#libs/plain-text/index.js';
import { budgetAlerted, budgetStopped } from '../../../identity/billing/index.js';
import { signedIn } from '../../../identity/sessions/index.js';
import { type AuditFacts, audited } from '../../../platform/audit/index.js';
import { source } from './notification-source.js';

const UNEXPECTED =
  'If it was not you, change your password, which ends all sign-ins, and look at your keys and applications.';

/** A change to the security of one account, which its owner hears of. */
const securityChange = (
  actions: readonly string[],
  title: string,
  ownerOf: (facts: AuditFacts) => string | null,
) =>
  source({
    on: audited,
    // The key of a service account is no key for the account of who made it.
    when: ({ action, details }) => actions.includes(action) && !details?.service_account_id,
    load: async facts => {
      const person = ownerOf(facts);
      return person === null ? undefined : { organization_id: null, person, name: nameIn(facts) };
    },
    recipients: ({ person }) => ({ people: [person] }),
    about: (_row, { id }) => id,
    title: () => title,
    body: ({ name }) => (name ? `It is called “${name}”. ${UNEXPECTED}` : UNEXPECTED),
    data: () => ({}),
  });

const byActor = ({ actor_id }: AuditFacts) => actor_id;
const byTarget = ({ target_id }: AuditFacts) => target_id;

function nameIn({ details = {} }: AuditFacts): string | undefined {
  const name = details.name ?? details.client_name;
  return typeof name === 'string' ? shortName(name) : undefined;
}

/** The owners of the organization are notified, who may not see the workspace but answer for its bill. */
const BUDGET = {
  recipients: () => ({ organizationRoles: ['owner'] }) as const,
  data: (_row: unknown, { workspace_id }: { workspace_id: string | null }): Record<string, string> =>
    workspace_id ? { budget_workspace_id: workspace_id } : {},
};

interface Budgeted {
  readonly organization: string;
  readonly workspace: string | null;
}

const nameOf = ({ organization, workspace }: Budgeted): string =>
  workspace === null ? shortName(organization) : `${shortName(workspace)} (${shortName(organization)})`;

const usd = (amount: string): string => `$${Number(amount).toFixed(2)}`;

/** Accounts, invitations to organizations, and budgets. */
export const IDENTITY_SOURCES = {
  'security.key_created': securityChange(
    ['key.create', 'key.rotate'],
    'An API key for your account was made',
    byActor,
  ),
  'security.access_granted': securityChange(
    ['grant_create'],
    'An application was let in to your account',
    byActor,
  ),
  'security.password_changed': securityChange(
    ['account_change_password', 'account_reset_password', 'account_set_password'],
    'The password of your account was changed',
    byTarget,
  ),
  'security.email_changed': securityChange(
    ['account_change_email'],
    'The e-mail address of your account was changed',
    byTarget,
  ),
  'security.signed_in': source({
    on: signedIn,
    load: async (facts, records) =>
      (await records.isNewProgram(facts)) ? { organization_id: null } : undefined,
    recipients: (_row, { user_id }) => ({ people: [user_id] }),
    about: (_row, { id }) => id,
    title: () => 'Somebody signed in to your account',
    body: (_row, { address, user_agent }) => {
      const program = user_agent ? shortName(user_agent, 200) : 'a program that does not say what it is';
      return `It was from ${address}, with ${program}. ${UNEXPECTED}`;
    },
    data: () => ({}),
  }),

  'invitation.received': source({
    on: audited,
    when: ({ action }) => action === 'invitation.create',
    load: async ({ organization_id: invitedTo, details }, records) => {
      const name = invitedTo && (await records.organizationName(invitedTo));
      const person = await records.personWith(String(details?.email));
      // They are no member yet.
      return name && person ? { organization_id: null, invitedTo, name, person } : undefined;
    },
    recipients: ({ person }) => ({ people: [person] }),
    about: (_row, { target_id }) => target_id,
    title: ({ name }) => `You are invited to ${shortName(name)}`,
    body: () => 'The link by which you join is in the invitation, in your mail.',
    data: ({ invitedTo }, { target_id }) => ({ invitation_id: target_id, invited_to: invitedTo }),
  }),
  'invitation.accepted': source({
    on: audited,
    when: ({ action }) => action === 'invitation.accept',
    load: async ({ target_id, organization_id }, records) => {
      const inviter = await records.inviter(target_id);
      return inviter ? { organization_id, inviter } : undefined;
    },
    recipients: ({ inviter }) => ({ people: [inviter] }),
    about: (_row, { target_id }) => target_id,
    title: (_row, { details }) => `${shortName(String(details?.email))} accepted your invitation`,
    body: (_row, { details }) => `They are in the organization now, as ${String(details?.role)}.`,
    data: (_row, { target_id }) => ({ invitation_id: target_id }),
  }),

  'budget.alert': source({
    on: budgetAlerted,
    load: async ({ organization_id, organization, workspace }) => ({
      organization_id,
      name: nameOf({ organization, workspace }),
    }),
    about: (_row, { workspace_id, organization_id, period, percent, created_at }) =>
      `${workspace_id ?? organization_id}:${period}:${percent}:${created_at}`,
    title: ({ name }, { percent, period }) => `${name} has spent ${percent}% of its budget for ${period}`,
    body: ({ name }, { spent_usd, monthly_usd, period }) =>
      `${name} has spent ${usd(spent_usd)} of ${usd(monthly_usd)} in ${period}. With a hard stop, model calls that do not fit into the budget are refused until it is raised or the month ends.`,
    ...BUDGET,
  }),
  'budget.stopped': source({
    on: budgetStopped,
    load: async ({ organization_id, workspace_id }, records) => {
      const organization = await records.organizationName(organization_id);
      const workspace = workspace_id && ((await records.workspaceName(workspace_id)) ?? null);
      return organization === undefined
        ? undefined
        : { organization_id, name: nameOf({ organization, workspace }) };
    },
    about: (_row, { workspace_id, organization_id, period, monthly_usd }) =>
      `${workspace_id ?? organization_id}:${period}:${monthly_usd}`,
    title: ({ name }) => `Model calls of ${name} are refused`,
    body: (_row, { period, monthly_usd }) =>
      `The budget for ${period}, ${usd(monthly_usd)}, has no room for them. It starts anew with the next month (UTC), unless it is raised.`,
    ...BUDGET,
  }),
};
