import { escapeHtml } from '#libs/html/index.js';
import {
  formHtml,
  type HtmlPage,
  newPasswordField,
  problemHtml,
  signInFields,
} from '../../platform/pages/index.js';
import type { OpenPage } from '../page-sessions/index.js';

/** What an invitation offers to the person of an address. */
export interface Offer {
  readonly title: string;
  /** Sentences, as text. */
  readonly says: readonly string[];
  readonly email: string;
  /** `none`: it has no account, and cannot get one. */
  readonly account: 'exists' | 'can_be_made' | 'none';
}

/** What a person typed into a form that was not taken. */
export interface Tried {
  readonly name?: string;
  readonly email?: string;
  readonly problem: string;
}

/**
 * Asks whether a person accepts: the one who is signed in, one who signs in first, one who makes an account by accepting.
 * The page says so where another address is signed in.
 */
export function offerPage(opened: OpenPage, offer: Offer, tried?: Tried): HtmlPage {
  const paragraphs = offer.says.map(text => `<p>${escapeHtml(text)}</p>`).join('\n');
  const body = `${problemHtml(tried?.problem)}
${paragraphs}
${waysIn(opened, offer, tried)}
${decline(opened)}
<p class="aside">If you expected nothing, ignore this: nothing changes until you accept.</p>`;
  return { title: offer.title, body };
}

/** Says that an invitation is of another address than the person who is signed in, and lets them switch. */
export function otherAccountHtml({ address, csrf }: OpenPage, signedIn: string, email: string): string {
  return `<p class="problem" role="alert">You are signed in as ${escapeHtml(signedIn)}. This invitation is for ${escapeHtml(email)}.</p>
${formHtml(
  `${address}/sign-out`,
  csrf,
  `<button type="submit">Go on as ${escapeHtml(email)}</button>
<p class="hint">This signs ${escapeHtml(signedIn)} out of this page.</p>`,
)}`;
}

/** Asks a person to sign in, to see what they accepted. */
export function signInToGoOn(
  { address, csrf }: OpenPage,
  { title, text, email, tried }: { title: string; text: string; email: string; tried?: Tried },
): HtmlPage {
  const body = `<p>${escapeHtml(text)}</p>
${problemHtml(tried?.problem)}
${formHtml(`${address}/sign-in`, csrf, signInFields(tried?.email ?? email, tried?.problem))}`;
  return { title, body };
}

function waysIn(opened: OpenPage, offer: Offer, tried: Tried | undefined): string {
  const { address, csrf, person } = opened;
  if (person && person.email !== offer.email)
    return otherAccountHtml(opened, person.email ?? person.name, offer.email);
  if (person)
    return `${formHtml(`${address}/accept`, csrf, '<button type="submit">Accept</button>')}
<p class="hint">You are signed in as ${escapeHtml(offer.email)}.</p>`;
  if (offer.account === 'exists')
    return `<h2>Sign in to accept</h2>
${formHtml(`${address}/sign-in`, csrf, signInFields(tried?.email ?? offer.email, tried?.problem))}`;
  if (offer.account === 'none')
    return `<p class="problem" role="alert">${escapeHtml(offer.email)} has no account, and this installation takes no new ones. Ask its operator.</p>`;
  return `<h2>Make your account</h2>
${formHtml(`${address}/accept`, csrf, newcomerFields(offer.email, tried))}`;
}

/** The address is there for password managers, and cannot be changed: it is the one that was invited. */
const newcomerFields = (email: string, tried: Tried | undefined): string =>
  `<label for="email">E-mail address</label>
<input id="email" type="email" autocomplete="username" value="${escapeHtml(email)}" readonly>
<label for="name">Your name</label>
<input id="name" name="name" type="text" autocomplete="name" maxlength="120" required autofocus value="${escapeHtml(tried?.name ?? '')}">
${newPasswordField('password', 'Password')}
<button type="submit">Create account and accept</button>`;

const decline = ({ address, csrf }: OpenPage): string =>
  formHtml(`${address}/decline`, csrf, '<button type="submit" class="link">Decline</button>');
