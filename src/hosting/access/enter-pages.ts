import { escapeHtml } from '#libs/html/index.js';
import { type FormPlace, formHtml, type HtmlPage, signInForm } from '../../platform/pages/index.js';
import type { HostedHost } from '../hosts/index.js';

/** Forms go to paths below the page's; where it leads stays in the query. */
const below = ({ address }: FormPlace, path: string): string => address.replace('?', `/${path}?`);

/** Asks who it is. The form may lead on to the host that is to be opened. */
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

/** Says who can help, and nothing of what is there. */
export function notAllowedPage(page: FormPlace, { host, origin }: HostedHost, email: string): HtmlPage {
  const signOut = `<p class="aside">You are signed in as ${escapeHtml(email)}. <button type="submit" class="link">Use another account</button></p>`;
  const body = `<p>Your account may not open <strong>${escapeHtml(host)}</strong>. Ask whoever sent you the address: an editor of its workspace can let you in.</p>
${formHtml(below(page, 'sign-out'), page.csrf, signOut)}`;
  return { title: 'You cannot open this', body, formTargets: [origin] };
}
