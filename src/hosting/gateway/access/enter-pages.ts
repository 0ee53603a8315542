import { escapeHtml } from '#libs/html/index.js';
import { type FormPlace, formHtml, type HtmlPage, signInForm } from '../../../platform/pages/index.js';
import { type HostedHost } from '../hosts/host-table.js';

/** Forms post to paths below the page; the query keeps the destination. */
const below = ({ address }: FormPlace, path: string): string => address.replace('?', `/${path}?`);

export function signInPage(
  page: FormPlace,
  { host, origin }: HostedHost,
  email: string,
  problem?: string,
): HtmlPage {
  const body = `<p>To open <strong>${escapeHtml(host)}</strong>, sign in to your account here.</p>
${signInForm(below(page, 'sign-in'), page.csrf, email, problem)}`;
  return { title: 'Sign in', body, formTargets: [origin] };
}

/** Names who can help, and reveals nothing about the site. */
export function notAllowedPage(
  page: FormPlace,
  { host, origin }: HostedHost,
  email: string,
  isConfirmed: boolean,
): HtmlPage {
  const signOut = `<p class="aside">You are signed in as ${escapeHtml(email)}. <button type="submit" class="link">Use another account</button></p>`;
  const body = `<p>Your account may not open <strong>${escapeHtml(host)}</strong>. Ask whoever sent you the address: an editor of its workspace can let you in.</p>
${isConfirmed ? '' : confirmForm(page, email)}
${formHtml(below(page, 'sign-out'), page.csrf, signOut)}`;
  return { title: 'You cannot open this', body, formTargets: [origin] };
}

const confirmForm = (page: FormPlace, email: string): string =>
  formHtml(
    below(page, 'confirm-address'),
    page.csrf,
    `<p>If it was opened to ${escapeHtml(email)}: that address is not confirmed yet. The link that confirms it comes by mail.</p>
<button type="submit">Send the link to my address</button>`,
  );

export function linkSentPage({ address }: FormPlace, { origin }: HostedHost, email: string): HtmlPage {
  const body = `<p>A link was sent to <strong>${escapeHtml(email)}</strong>. Open it, confirm your address, and come back.</p>
<a class="button" href="${escapeHtml(address)}">I have confirmed it</a>`;
  return { title: 'Look into your mail', body, formTargets: [origin] };
}
