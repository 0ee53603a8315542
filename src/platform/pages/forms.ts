import { escapeHtml } from './html.js';

/** A page that has forms: its own address, and what shows that they are of this page. */
export interface FormPlace {
  readonly address: string;
  readonly csrf: string;
}

/** A form that works without scripts; `content` is HTML already. */
export const formHtml = (action: string, csrf: string, content: string): string =>
  `<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="csrf" value="${escapeHtml(csrf)}">
${content}
</form>`;

/** What a person signs in with. The first empty field has the focus. */
export function signInFields(email: string, problem?: string): string {
  return `<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="username" maxlength="254" required value="${escapeHtml(email)}"${email ? '' : ' autofocus'}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="256" required${email ? ' autofocus' : ''}${problem ? ' aria-invalid="true"' : ''}>
<button type="submit">Sign in</button>
<p class="hint"><a href="/auth/forgot">Forgot your password?</a></p>`;
}

/** A password to be; browsers offer to make one up and keep it. */
export const newPasswordField = (name: string, label: string): string =>
  `<label for="${name}">${escapeHtml(label)}</label>
<input id="${name}" name="${name}" type="password" autocomplete="new-password" minlength="8" maxlength="256" required aria-describedby="hint">
<p id="hint" class="hint">8 characters or more.</p>`;

/** Who is signed in, and the way out; the page it is on takes `sign-out`. */
export const signedInAs = ({ address, csrf }: FormPlace, email: string, label = 'Sign out'): string =>
  formHtml(
    `${address}/sign-out`,
    csrf,
    `<p class="aside">You are signed in as ${escapeHtml(email)}. <button type="submit" class="link">${escapeHtml(label)}</button></p>`,
  );
