import type { OrganizationPermission, WorkspacePermission } from '../../../platform/access/index.js';

export const SEVERITIES = ['info', 'warning', 'critical'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** What a person wants of a channel: each at once, none, or all of a day in one. */
export const MODES = ['on', 'off', 'digest'] as const;
export type Mode = (typeof MODES)[number];

/**
 * The channels that people have preferences for, with the modes of each, and the one that holds where a type below says
 * nothing. Where a program chooses by itself what it is sent (webhooks), there is nothing to prefer.
 */
export const PREFERRED_CHANNELS = {
  in_app: { modes: ['on', 'off'], default: 'on' },
  mail: { modes: ['on', 'off', 'digest'], default: 'off' },
  push: { modes: ['on', 'off'], default: 'off' },
} as const satisfies Record<string, { modes: readonly Mode[]; default: Mode }>;
export type PreferredChannel = keyof typeof PREFERRED_CHANNELS;
export const PREFERRED_CHANNEL_NAMES = Object.keys(PREFERRED_CHANNELS) as PreferredChannel[];

/**
 * One kind of notification. Its name is `category.what`. For each channel its mode unless the person says otherwise; absent: that
 * of {@link PREFERRED_CHANNELS}.
 */
export interface NotificationType extends Partial<Record<PreferredChannel, Mode>> {
  readonly severity: Severity;
  /** What has happened, for the page of preferences. */
  readonly summary: string;
  /** The permission that recipients need, in its workspace or organization; null: it is about the person alone. */
  readonly needs: WorkspacePermission | OrganizationPermission | null;
  /** Channels that are always on, each with the reason that a person reads who tries to turn it off. */
  readonly always?: Partial<Record<PreferredChannel, string>>;
}

const SECURITY = {
  severity: 'warning',
  needs: null,
  mail: 'on',
  always: { mail: 'mail about the security of your account cannot be turned off' },
} as const;

/** Everything that people are notified of. A new type is a line here, and an entry of `sources/`. */
export const TYPES = {
  'approval.requested': {
    severity: 'warning',
    summary: 'An agent waits for your approval',
    needs: 'approval.read',
    mail: 'on',
    push: 'on',
    always: { in_app: 'a run would wait for an approval that nobody sees' },
  },
  'approval.reminded': {
    severity: 'warning',
    summary: 'An automation still waits for your approval',
    needs: 'approval.read',
    mail: 'on',
    push: 'on',
  },
  'approval.expired': {
    severity: 'warning',
    summary: 'No one decided about an approval in time',
    needs: 'approval.read',
  },
  'run.question': {
    severity: 'warning',
    summary: 'An agent asks you something, and waits',
    needs: 'chat.read',
    mail: 'on',
    push: 'on',
    always: { in_app: 'a run would wait for an answer that no one gives' },
  },
  'run.question_reminded': {
    severity: 'warning',
    summary: 'An agent still waits for your answer',
    needs: 'chat.read',
    mail: 'on',
    push: 'on',
  },
  'run.failed': { severity: 'warning', summary: 'A run of yours failed', needs: 'chat.read' },
  'run.finished': {
    severity: 'info',
    summary: 'A long run of yours finished while you were away',
    needs: 'chat.read',
  },
  'loop.finished': {
    severity: 'info',
    summary: 'A loop of yours has ended, satisfied or not',
    needs: 'loop.read',
  },
  'automation.failed': {
    severity: 'warning',
    summary: 'A run of an automation of yours failed',
    needs: 'automation.read',
    mail: 'digest',
  },
  'automation.completed': {
    severity: 'info',
    summary: 'A run of an automation of yours completed, where its file asks to be told',
    needs: 'automation.read',
  },
  'automation.paused': {
    severity: 'critical',
    summary: 'An automation of yours is paused',
    needs: 'automation.read',
    mail: 'on',
  },
  'automation.silent': {
    severity: 'warning',
    summary: 'Nothing of an automation of yours has succeeded for too long',
    needs: 'automation.read',
    mail: 'on',
  },
  'automation.drift': {
    severity: 'info',
    summary: 'Files of an automation of yours were changed, and are not deployed',
    needs: 'automation.read',
  },
  'automation.skipped': {
    severity: 'warning',
    summary: 'Something that came in for an automation of yours did not start it',
    needs: 'automation.read',
  },
  'budget.alert': {
    severity: 'warning',
    summary: 'A part of a budget is spent',
    needs: 'billing.read',
    mail: 'on',
  },
  'budget.stopped': {
    severity: 'critical',
    summary: 'A budget is spent, and model calls are refused',
    needs: 'billing.read',
    mail: 'on',
  },
  'share.uploaded': {
    severity: 'info',
    summary: 'Somebody uploaded files by a link of yours',
    needs: 'file.read',
  },
  'form.submitted': {
    severity: 'info',
    summary: 'Somebody filled in a form of yours',
    needs: 'form.read',
    mail: 'digest',
  },
  'form.troubled': {
    severity: 'warning',
    summary: 'A form of yours cannot be shown, or its responses cannot be written to their file',
    needs: 'form.read',
    mail: 'on',
  },
  'template.published': {
    severity: 'info',
    summary: 'A workspace was published as a version of a template',
    needs: 'workspace.read',
  },
  'template.blocked': {
    severity: 'warning',
    summary: 'A version of a template of yours holds what looks like secrets, and is not published',
    needs: 'workspace.read',
  },
  'template.failed': {
    severity: 'warning',
    summary: 'A workspace was not published as a template',
    needs: 'workspace.read',
  },
  'git.cloned': {
    severity: 'info',
    summary: 'A Git repository that you asked for is cloned',
    needs: 'git.read',
  },
  'git.clone_failed': {
    severity: 'warning',
    summary: 'A Git repository that you asked for was not cloned',
    needs: 'git.read',
  },
  'connector.tools_changed': {
    severity: 'warning',
    summary: 'A connector of yours has other tools than before',
    needs: 'connection.read',
    mail: 'on',
  },
  'connector.needs_reauth': {
    severity: 'warning',
    summary: 'A connector of yours has to be authorized again',
    needs: 'connection.read',
    mail: 'on',
  },
  'site.version_failed': {
    severity: 'warning',
    summary: 'A build of yours of a site failed',
    needs: 'site.read',
  },
  'site.version_ready': {
    severity: 'info',
    summary: 'A version of yours of a site is built, and waits to be promoted',
    needs: 'site.read',
  },
  'site.promoted': {
    severity: 'info',
    summary: 'A version of a site of yours went live',
    needs: 'site.read',
  },
  'server.crashed': {
    severity: 'info',
    summary: 'A server of yours ended by itself, and is started again',
    needs: 'tunnel.read',
  },
  'server.failed': {
    severity: 'warning',
    summary: 'A server of yours is not started any more',
    needs: 'tunnel.read',
    mail: 'on',
  },
  'domain.failing': {
    severity: 'warning',
    summary: 'The DNS record of a host of yours is not found any more',
    needs: 'site.read',
    mail: 'on',
  },
  'domain.failed': {
    severity: 'warning',
    summary: 'A host of yours is not served any more: its DNS record is gone',
    needs: 'site.read',
    mail: 'on',
  },
  'connection.needs_reauth': {
    severity: 'warning',
    summary: 'A connection of yours has to be authorized again',
    needs: 'connection.read',
    mail: 'on',
  },
  'connection.expiring': {
    severity: 'warning',
    summary: 'A connection of yours ends in a week, unless it is authorized again',
    needs: 'connection.read',
  },
  'invitation.received': {
    severity: 'info',
    // By mail they get the invitation itself.
    summary: 'You are invited to an organization',
    needs: null,
  },
  'invitation.accepted': {
    severity: 'info',
    summary: 'Somebody accepted an invitation of yours',
    needs: 'member.list',
  },
  'security.signed_in': { ...SECURITY, summary: 'Somebody signed in to your account in a new way' },
  'security.key_created': { ...SECURITY, summary: 'An API key for your account was made' },
  'security.access_granted': { ...SECURITY, summary: 'An application was let in to your account' },
  // Letters about these two are the account's own (`identity/auth`): they reach the old address, too.
  'security.password_changed': {
    severity: 'warning',
    summary: 'The password of your account was changed',
    needs: null,
  },
  'security.email_changed': {
    severity: 'warning',
    summary: 'The e-mail address of your account was changed',
    needs: null,
  },
} as const satisfies Record<string, NotificationType>;

export type TypeName = keyof typeof TYPES;
export const TYPE_NAMES = Object.keys(TYPES) as TypeName[];

/** What the table says of a type; undefined for one of another version. */
export const typeOf = (name: string): NotificationType | undefined =>
  Object.hasOwn(TYPES, name) ? TYPES[name as TypeName] : undefined;

export const categoryOf = (type: string): string => type.split('.', 1)[0] ?? type;

export const CATEGORIES: readonly string[] = [...new Set(TYPE_NAMES.map(categoryOf))];

/** The mode of a channel where a person prefers nothing. */
export const defaultMode = (type: TypeName, channel: PreferredChannel): Mode =>
  (TYPES[type] as NotificationType)[channel] ?? PREFERRED_CHANNELS[channel].default;
