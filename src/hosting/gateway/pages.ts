import { escapeHtml } from '#libs/html/index.js';
import type { HtmlPage } from '../../platform/pages/index.js';

type Problem = HtmlPage & { readonly detail: string };

const problem = (title: string, detail: string, more = ''): Problem => ({
  title,
  detail,
  body: `<p>${escapeHtml(detail)}.</p>${more}`,
});

const signIn = (next: string, label: string): string =>
  `<a class="button" href="/_atelier/sign-in?next=${encodeURIComponent(next)}">${label}</a>`;

export const NOT_FOUND = problem(
  'There is nothing here',
  'No site has this address: it may be mistyped, or the site was deleted or has another name now',
);
export const NOTHING_PUBLISHED = problem(
  'Nothing is published yet',
  'Nothing is published here yet; come back when its first version is live',
);
export const NO_SUCH_PATH = { detail: 'There is nothing at this address' };
export const PROGRAM_REFUSED = { detail: 'Sign in to open this; programs send a token in X-Atelier-Access' };
export const BUSY = problem(
  'Too many requests',
  'Too many requests come from your network; try again in a minute',
);
export const UNAVAILABLE = problem(
  'Back in a moment',
  'This cannot be shown right now; try again in a moment',
);
export const BROKEN = problem('Something went wrong', 'This cannot be shown because of a fault on our side');
export const TOO_MANY_HEADERS = problem(
  'This request cannot be answered',
  'The request has more than 100 headers; send fewer, or clear the cookies of this site',
);

export const MALFORMED = problem(
  'This request cannot be answered',
  'The address or the Host header of the request is malformed',
);

/** For browsers that are still refused after signing in. */
export const roundFailed = (next: string): Problem =>
  problem(
    'Signing in did not work',
    'Your browser came back without a sign-in that counts here. It may block cookies, or the address is older than a minute',
    signIn(next, 'Try again'),
  );

export const notAllowed = (email: string, next: string): Problem =>
  problem(
    'You cannot open this',
    `You are signed in as ${email}, who may not open this. Ask whoever sent you the address`,
    signIn(next, 'Sign in with another account'),
  );

export function signInFirst(
  next: string,
  preview: { title: string; description: string | null } | null,
): Problem {
  const detail = 'Sign in to open this';
  const title = preview?.title ?? 'Sign in to open this';
  const about = preview?.description ? `<p>${escapeHtml(preview.description)}</p>` : '';
  const meta = preview
    ? { 'og:title': preview.title, ...(preview.description && { 'og:description': preview.description }) }
    : {};
  return {
    title,
    detail,
    meta,
    body: `${about}<p>It is for people who sign in.</p>${signIn(next, 'Sign in')}`,
  };
}

export const linkOnly = (next: string): Problem =>
  problem(
    'Open this by its link',
    'It is open to those who have its link. Ask whoever gave you the address',
    signIn(next, 'Sign in as a member'),
  );

export function passwordPage(next: string, wrong?: string): Problem {
  const alert = wrong === undefined ? '' : `<p class="problem" role="alert">${escapeHtml(wrong)}</p>`;
  return {
    title: 'This has a password',
    detail: 'Enter the password at /_atelier/unlock, or sign in',
    body: `<p>Enter it to go on.</p>
${alert}
<form method="post" action="/_atelier/unlock">
<input type="hidden" name="next" value="${escapeHtml(next)}">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="256" required autofocus${wrong === undefined ? '' : ' aria-invalid="true"'}>
<button type="submit">Open</button>
</form>
<p class="aside"><a href="/_atelier/sign-in?next=${escapeHtml(encodeURIComponent(next))}">Sign in as a member instead</a></p>`,
  };
}
