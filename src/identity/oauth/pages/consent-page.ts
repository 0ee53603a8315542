import type { Client } from 'oidc-provider';
import { escapeHtml } from '#libs/html/index.js';
import { plainLine } from '#libs/plain-text/index.js';
import { formHtml, type HtmlPage, problemHtml } from '../../../platform/pages/index.js';
import type { AccessGroup, AccessWords } from '../scopes/access-words.js';

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];
const MAX_NAME = 80;

/** Who asks, in words that the person can check. */
export interface ClientIntroduction {
  readonly name: string;
  /** Who says that this is its name. */
  readonly vouched: string;
  /** Where the person is sent back to; null for a device. */
  readonly redirectHost: string | null;
  readonly returnsTo: string;
  /** Where a form may lead in the end, see `HtmlPage`. */
  readonly formTargets: readonly string[];
}

/** Introduces a client by its name, and by what it cannot make up: its address and where it wants the person sent. */
export function introduce(client: Client, redirectUri: string | undefined): ClientIntroduction {
  const name = nameOf(client);
  const target = redirectUri === undefined ? null : URL.parse(redirectUri);
  const isDocument = client.clientId.startsWith('https://');
  const vouched = isDocument
    ? `as ${new URL(client.clientId).host} says of it`
    : 'as it calls itself; nobody checked the name';
  return { name, vouched, ...returnOf(target) };
}

function nameOf({ clientName, clientId }: Client): string {
  const given = clientName
    ?.toWellFormed()
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim();
  return (given || clientId).slice(0, MAX_NAME);
}

function returnOf(
  target: URL | null,
): Pick<ClientIntroduction, 'redirectHost' | 'returnsTo' | 'formTargets'> {
  if (!target) return { redirectHost: null, returnsTo: 'The device that showed you a code', formTargets: [] };
  const { protocol, hostname, host, origin } = target;
  if (protocol !== 'https:' && protocol !== 'http:')
    return {
      redirectHost: protocol,
      returnsTo: `The application on this device that opens ${protocol} links`,
      formTargets: [protocol],
    };
  const onThisMachine = LOOPBACK.includes(hostname);
  return {
    redirectHost: host,
    returnsTo: onThisMachine ? `A program on this device (${host})` : host,
    // A policy of the page cannot name an IPv6 address.
    formTargets: [hostname.startsWith('[') ? protocol : origin],
  };
}

/** How much a client may do, as the person is shown it. */
export interface ShownLevel extends AccessWords {
  readonly value: string;
}

export interface WorkspaceGroup {
  readonly organization: string;
  readonly workspaces: readonly { id: string; name: string }[];
}

/** What the person chose so far: what a page that is shown again keeps. */
export interface ConsentChoice {
  readonly level: string;
  readonly reach: string;
  readonly workspaceIds: readonly string[];
}

interface ConsentPage {
  readonly action: string;
  readonly switchAction: string | undefined;
  readonly csrf: string;
  readonly client: ClientIntroduction;
  readonly email: string;
  readonly resources: readonly string[];
  readonly levels: readonly ShownLevel[];
  readonly groups: readonly WorkspaceGroup[];
  readonly choice: ConsentChoice;
  readonly problem?: string;
  /** The problem is one that the person may insist on. */
  readonly doubt?: boolean;
}

export function consentPage(page: ConsentPage): HtmlPage {
  const { action, csrf, client, email, problem } = page;
  return {
    title: `Let ${client.name} in?`,
    formTargets: client.formTargets,
    body: `${problemHtml(problem)}
<dl class="facts">
<dt>Application</dt><dd><strong>${escapeHtml(client.name)}</strong>, ${escapeHtml(client.vouched)}</dd>
<dt>You return to</dt><dd>${escapeHtml(client.returnsTo)}</dd>
<dt>It gets access to</dt><dd>${page.resources.map(escapeHtml).join('<br>')}</dd>
<dt>It acts as</dt><dd>${escapeHtml(email)}</dd>
</dl>
${formHtml(action, csrf, questionOf(page))}
<p class="aside">It never sees your password, and never gets more than you have yourself. You can take this back at any time.</p>
${page.switchAction ? switchForm(page.switchAction, csrf) : ''}`,
  };
}

const questionOf = (page: ConsentPage): string =>
  `${page.doubt ? '<input type="hidden" name="sure" value="yes">' : ''}
${levelsOf(page)}
${reachOf(page.groups, page.choice)}
<div class="buttons">
<button type="submit" name="decision" value="allow">Allow</button>
<button type="submit" name="decision" value="deny" class="quiet" formnovalidate>Decline</button>
</div>`;

function levelsOf({ levels, choice }: ConsentPage): string {
  const radios = levels.map(level => levelOf(level, choice.level === level.value));
  return `<fieldset><legend>What it may do</legend>${radios.join('\n')}</fieldset>`;
}

/** Nothing of it is folded away: who allows it has seen it. */
function levelOf({ value, title, hint, groups }: ShownLevel, checked: boolean): string {
  return `${radio('level', value, checked, title, hint)}
${groups.map(groupOf).join('\n')}`;
}

function groupOf({ title, items, isGrave }: AccessGroup): string {
  const list = items.map(item => `<li>${escapeHtml(item)}</li>`).join('');
  return `<div class="asked${isGrave ? ' grave' : ''}"><h2>${escapeHtml(title)}</h2><ul>${list}</ul></div>`;
}

function reachOf(groups: readonly WorkspaceGroup[], { reach, workspaceIds }: ConsentChoice): string {
  const lists = groups.map(
    ({ organization, workspaces }) =>
      `<h2>${escapeHtml(plainLine(organization))}</h2>${workspaces.map(each => checkbox(each, workspaceIds)).join('\n')}`,
  );
  const chosen =
    lists.length === 0
      ? ''
      : `
${radio('reach', 'chosen', reach === 'chosen', 'Only those I choose', 'It sees no other, and no new ones.')}
<div class="list of-choice" role="group" aria-label="Workspaces that it may use">${lists.join('\n')}</div>`;
  return `<fieldset><legend>Where</legend>
${radio('reach', 'all', reach === 'all', 'All workspaces that I see', 'Also those that are made later.')}${chosen}
</fieldset>`;
}

function radio(name: string, value: string, checked: boolean, title: string, hint: string): string {
  return `<label class="choice"><input type="radio" name="${name}" value="${value}"${checked ? ' checked' : ''}>
<span>${escapeHtml(title)}<small>${escapeHtml(hint)}</small></span></label>`;
}

function checkbox({ id, name }: { id: string; name: string }, chosen: readonly string[]): string {
  const checked = chosen.includes(id) ? ' checked' : '';
  return `<label class="choice"><input type="checkbox" name="workspace" value="${id}"${checked}>
<span>${escapeHtml(plainLine(name))}</span></label>`;
}

const switchForm = (action: string, csrf: string): string =>
  formHtml(action, csrf, '<button type="submit" class="link">Use another account</button>');
