import type { Client, KoaContextWithOIDC } from 'oidc-provider';
import { escapeHtml, type HtmlPage, problemHtml } from '../../../platform/pages/index.js';
import { introduce } from './client-introduction.js';
import { OAUTH_ROUTES } from './routes.js';

/** The hidden fields of a form that oidc-provider made for a page of its own. */
const hiddenFieldsOf = (form: string): string => (form.match(/<input type="hidden"[^>]*>/g) ?? []).join('\n');

function problemOf(error: (Error & { userCode?: string }) | undefined): string | undefined {
  if (!error) return undefined;
  if (error.userCode || error.name === 'NoCodeError')
    return 'This code is not valid: mistyped, used or older than 15 minutes. Ask your device for a new one.';
  if (error.name === 'AbortedError') return 'You declined; the device was told so.';
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
