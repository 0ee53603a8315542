import type { Client, ErrorOut, KoaContextWithOIDC } from 'oidc-provider';
import { escapeHtml } from '#libs/html/index.js';
import {
  formHtml,
  type HtmlPage,
  htmlDocument,
  htmlHeaders,
  problemHtml,
  signInFields,
} from '../../../platform/pages/index.js';
import { type ClientIntroduction, introduce } from './consent-page.js';

/** Where the endpoints are. */
export const OAUTH_ROUTES = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  jwks: '/oauth/jwks',
  registration: '/oauth/register',
  revocation: '/oauth/revoke',
  introspection: '/oauth/introspect',
  pushed_authorization_request: '/oauth/par',
  device_authorization: '/oauth/device/authorize',
  code_verification: '/oauth/device',
  end_session: '/oauth/session/end',
};

/** Where a person signs in and is asked. */
export const INTERACTION_ROUTE = '/oauth/interaction';

/** Answers with a page where oidc-provider holds the request. */
export function sendOnKoa(ctx: KoaContextWithOIDC, page: HtmlPage): void {
  ctx.body = htmlDocument(page);
  ctx.set(htmlHeaders(page));
}

interface LoginPage {
  readonly action: string;
  readonly csrf: string;
  readonly client: ClientIntroduction;
  readonly email: string;
  readonly problem?: string;
}

export function loginPage({ action, csrf, client, email, problem }: LoginPage): HtmlPage {
  return {
    title: 'Sign in',
    formTargets: client.formTargets,
    body: `<p>to go on to <strong>${escapeHtml(client.name)}</strong></p>
${problemHtml(problem)}
${formHtml(action, csrf, signInFields(email, problem))}
<p class="aside">You are asked what ${escapeHtml(client.name)} may do before it gets in.</p>`,
  };
}

/** The hidden fields of a form that oidc-provider made for a page of its own. */
const hiddenFieldsOf = (form: string): string => (form.match(/<input type="hidden"[^>]*>/g) ?? []).join('\n');

function problemOf(error: (Error & { userCode?: string }) | undefined): string | undefined {
  if (!error) return undefined;
  if (error.userCode || error.name === 'NoCodeError')
    return 'This code is not valid: mistyped, used or older than 15 minutes. Ask your device for a new one.';
  if (error.name === 'AbortedError') return 'You declined; the device was notified.';
  return 'This did not work. Please enter the code again.';
}

/** Where a person types the code that a device shows. A code from the address is filled in, and still has to be sent. */
export function deviceCodePage(ctx: KoaContextWithOIDC, form: string, error: Error | undefined): HtmlPage {
  const { shown_code } = ctx.query;
  const shown = error ? '' : ([shown_code].flat()[0] ?? '');
  return {
    title: 'Connect a device',
    body: `${problemHtml(problemOf(error))}
<form method="post" action="${OAUTH_ROUTES.code_verification}">
${hiddenFieldsOf(form)}
<label for="user_code">Code that the device shows</label>
<input id="user_code" name="user_code" class="code" type="text" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="20" required autofocus value="${escapeHtml(shown)}" aria-describedby="hint">
<p id="hint" class="hint">Only enter a code from a device or program that you started yourself.</p>
<button type="submit">Continue</button>
</form>`,
  };
}

export function deviceConfirmPage(form: string, client: Client, code: string): HtmlPage {
  const { name } = introduce(client, undefined);
  return {
    title: 'Is this your device?',
    body: `<p><strong>${escapeHtml(name)}</strong> should be showing you this code right now:</p>
<p class="facts code">${escapeHtml(code)}</p>
<p>If somebody sent you the code or a link to this page, decline.</p>
<form method="post" action="${OAUTH_ROUTES.code_verification}">
${hiddenFieldsOf(form)}
<div class="buttons">
<button type="submit">It is mine</button>
<button type="submit" name="abort" value="yes" class="quiet">Decline</button>
</div>
</form>`,
  };
}

export function deviceDonePage(ctx: KoaContextWithOIDC): HtmlPage {
  const { client } = ctx.oidc;
  const name = client ? introduce(client, undefined).name : 'It';
  return {
    title: 'Your device is connected',
    body: `<p>${escapeHtml(name)} goes on by itself. You can close this page.</p>`,
  };
}

/** What a person can do about it, where the standard's own words would not tell. */
const ADVICE: Record<string, string> = {
  invalid_client:
    'The application that sent you here is not known, or what it says of itself cannot be read.',
  invalid_redirect_uri: 'The application asked to send you back to an address that it did not register.',
  server_error: 'Something went wrong on our side. Please try again.',
};
const GONE =
  'It was answered already, is older than half an hour, or was begun in another browser. What you answered stands. If the application still waits, go back to it and start again there.';
const EXPIRED = /expired|not found|already used/;

/** A failure that cannot be sent to the application, because its address is unknown. */
export function errorPage({ error, error_description }: ErrorOut): HtmlPage {
  const gone = error === 'invalid_request' && EXPIRED.test(error_description ?? '');
  const advice = gone
    ? GONE
    : (ADVICE[error] ?? 'The application that sent you here made a request that cannot be answered.');
  const details = [error, error_description].filter(Boolean).join(': ');
  return {
    title: gone ? 'This page is over' : 'This did not work',
    body: `<p>${escapeHtml(advice)}</p>
${gone ? '' : `<p class="aside">For its developers: ${escapeHtml(details)}</p>`}`,
  };
}
