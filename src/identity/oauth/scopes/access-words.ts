import { READ_SCOPES, scopeOf } from '../../../platform/access/index.js';
import { type ActionCatalog, permissionToRun } from '../../../platform/actions/index.js';
import { expandScopes, isAdministration, isRead } from './scopes.js';

/** What a scope lets an application do, in words for the person who is asked; the strongest first. */
export const SCOPE_WORDS: Readonly<Record<string, string>> = {
  'members:write': 'Invite, add and remove people, change their roles, and hand organizations over',
  'organizations:write': 'Create, rename and delete organizations with all that is in them',
  'service_accounts:write': 'Make accounts for programs, and keys for them',
  'billing:write': 'Change what may be spent: the budgets of organizations and workspaces',
  'models:write': 'Decide which models an organization uses, which then get its texts',
  'agents:write': 'Read and change what organizations tell all of their agents',
  'keys:write': 'Revoke your API keys',
  'grants:write': 'Take back what you allowed other applications',
  'account:write': 'Change the name of your account',
  'workspaces:write': 'Create, rename and delete workspaces',
  'shares:write': 'Manage and end share links and invitations to files',
  'forms:write': 'Open forms to people outside, end them, and delete what was handed in',
  'templates:write': 'Publish workspaces as templates, and delete templates',
  'connections:write':
    'Connect accounts at other services and MCP servers, let workspaces use them, and end them',
  'sites:write': 'Publish and delete sites, and decide who may open them',
  'servers:write': 'Run and delete servers, and decide who may open them',
  'automations:write': 'Deploy, pause and stop automations, which then act on your authority',
  'automations:run': 'Run automations, with input of its own',
  'git:write': 'Clone, change, pull and push Git repositories',
  'loops:write': 'Run loops, at the cost of the organization',
  'code:run': 'Run code in the sandboxes of workspaces',
  'agent:run': 'Set agents to work, at the cost of the organization',
  'actions:run': 'Run whatever else is listed here as an action',
  'files:write': 'Write, move and delete files',
  'chats:write': 'Create, change and delete chats',
  'approvals:write': 'Reach what agents ask you to approve; only you decide',
  'notifications:write': 'Change what you are told, where and when, and mark notifications as read',
  'audit:read': 'See who changed what in organizations',
  'billing:read': 'See usage, costs and budgets',
  'keys:read': 'See which API keys you have, without their secrets',
  'grants:read': 'See which applications you let in',
  'service_accounts:read': 'See accounts for programs, and their keys without the secrets',
  'members:read': 'See who is in organizations and workspaces',
  'organizations:read': 'See your organizations',
  'account:read': 'See your name and e-mail address',
  'files:read': 'See files and their history',
  'chats:read': 'See chats, and what agents did in them',
  'shares:read': 'See what is shared with people outside',
  'forms:read': 'See forms and what was handed in through them',
  'templates:read': 'See templates',
  'connections:read': 'See which accounts and MCP servers are connected, without their secrets',
  'git:read': 'See Git repositories: their status, commits and branches',
  'sites:read': 'See sites and their versions',
  'servers:read': 'See servers and what they print',
  'automations:read': 'See automations, what started them and what they did',
  'loops:read': 'See loops and how they went',
  'notifications:read': 'See your notifications and what you prefer to be told',
  'approvals:read': 'See what agents ask to have approved',
  'workspaces:read': 'See workspaces',
  'models:read': 'See which models there are',
  'actions:read': 'See which actions there are and which were run, and run those that only read',
};

/** Things that an application could do, under what they have in common. */
export interface AccessGroup {
  readonly title: string;
  readonly items: readonly string[];
  /** What others could come to harm by. */
  readonly isGrave: boolean;
}

/** How much an application may do, for the person who is asked. */
export interface AccessWords {
  readonly title: string;
  /** All of it in one line. */
  readonly hint: string;
  /** All of it in full, the strongest first. */
  readonly groups: readonly AccessGroup[];
}

/** In the place of a line for each scope that only reads. */
export const SEE_ALL =
  'See all that you can see: files, chats, runs, people, shares, costs, records, and keys without their secrets';

interface Parts {
  readonly administration: readonly string[];
  readonly changing: readonly string[];
  readonly reading: readonly string[];
  readonly exposing: readonly string[];
}

/** `exposing` is what of it opens something to others, in words. */
export function accessWords(asked: readonly string[], exposing: readonly string[]): AccessWords {
  const scopes = expandScopes(asked);
  const strongestFirst = Object.keys(SCOPE_WORDS).filter(scope => scopes.includes(scope));
  const rest = strongestFirst.filter(scope => !isAdministration(scope));
  const parts: Parts = {
    administration: strongestFirst.filter(isAdministration),
    changing: rest.filter(scope => !isRead(scope)),
    reading: rest.filter(isRead),
    exposing,
  };
  return { title: titleOf(parts), hint: hintOf(parts), groups: groupsOf(parts) };
}

function titleOf({ administration, changing, reading }: Parts): string {
  if (administration.length === 0 && changing.length === 0) return 'Only look';
  const verbs = [
    administration.length > 0 ? 'administer' : '',
    changing.length > 0 ? 'change' : '',
    reading.length > 0 ? 'look' : '',
  ].filter(Boolean);
  const text = listed(verbs);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function hintOf({ administration, changing, reading, exposing }: Parts): string {
  if (administration.length === 0 && changing.length === 0)
    return reading.length > 0 ? 'It changes nothing.' : 'It sees nothing and changes nothing.';
  const sentences = [
    administration.length > 0
      ? 'It administers: accounts, people, organizations or what is paid, as listed.'
      : 'It administers nothing: no accounts, keys, members, organizations or budgets.',
    changing.length > 0 ? 'It changes or runs what is listed.' : 'It changes nothing else.',
    exposing.length > 0 ? 'Before it opens something to others, or grants rights, it has to ask you.' : '',
    reading.length > 0 ? '' : 'It sees nothing beyond that.',
  ];
  return sentences.filter(Boolean).join(' ');
}

function groupsOf({ administration, changing, reading, exposing }: Parts): AccessGroup[] {
  const seesAll = READ_SCOPES.every(scope => reading.includes(scope));
  return [
    { title: 'Administer', items: words(administration), isGrave: true },
    { title: 'Open to others or grant rights, each time after asking you', items: exposing, isGrave: true },
    { title: 'Change and run', items: words(changing), isGrave: false },
    { title: 'Look', items: seesAll ? [SEE_ALL] : words(reading), isGrave: false },
  ].filter(({ items }) => items.length > 0);
}

const words = (scopes: readonly string[]): string[] => scopes.map(scope => SCOPE_WORDS[scope] ?? scope);

const listed = (items: readonly string[]): string =>
  items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;

/** What an application with these scopes could open to others, or which rights it could grant, in words. */
export function exposedWith(catalog: ActionCatalog, asked: readonly string[]): string[] {
  const scopes = expandScopes(asked);
  const isReached = (permission: Parameters<typeof scopeOf>[0] | null) =>
    permission === null || scopes.includes(scopeOf(permission));
  return catalog
    .list()
    .map(({ declaration }) => declaration)
    .filter(({ effect, sessionOnly, personOnly }) => effect === 'expose' && !sessionOnly && !personOnly)
    .filter(({ effect, permission }) => isReached(permissionToRun(effect)) && isReached(permission))
    .map(({ summary }) => summary.split(';')[0] ?? summary);
}
