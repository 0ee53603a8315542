import { escapeHtml } from '../../../platform/http/html.js';
import { type HtmlPage, problemHtml } from '../../../platform/http/html-page.js';
import type { ClientIntroduction } from './client-introduction.js';

export interface LoginPage {
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
<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="csrf" value="${escapeHtml(csrf)}">
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="username" maxlength="254" required value="${escapeHtml(email)}"${email ? '' : ' autofocus'}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="256" required${email ? ' autofocus' : ''}${problem ? ' aria-invalid="true"' : ''}>
<button type="submit">Sign in</button>
</form>
<p class="aside">You are asked what ${escapeHtml(client.name)} may do before it gets in.</p>`,
  };
}
