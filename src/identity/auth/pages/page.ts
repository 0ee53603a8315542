import type { FastifyReply } from 'fastify';
import { escapeHtml } from '../../../platform/http/html.js';
import { htmlDocument, htmlHeaders, problemHtml } from '../../../platform/http/html-page.js';

/** A page of one heading, some text and at most one form. */
export interface AuthPage {
  readonly title: string;
  readonly text?: string;
  /** What went wrong with the form that was sent. */
  readonly problem?: string;
  readonly form?: {
    readonly action: string;
    readonly token: string;
    readonly button: string;
    /** Asks for a new password. */
    readonly asksPassword?: boolean;
  };
}

export function sendPage(
  reply: FastifyReply,
  page: AuthPage,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): FastifyReply {
  const rendered = { title: page.title, body: bodyOf(page) };
  return reply
    .status(status)
    .headers({ ...headers, ...htmlHeaders(rendered) })
    .send(htmlDocument(rendered));
}

function bodyOf({ text, problem, form }: AuthPage): string {
  return `${problemHtml(problem)}
${text ? `<p>${escapeHtml(text)}</p>` : ''}
${form ? renderForm(form) : ''}`;
}

function renderForm({ action, token, button, asksPassword }: NonNullable<AuthPage['form']>): string {
  return `<form method="post" action="${action}">
<input type="hidden" name="token" value="${escapeHtml(token)}">
${asksPassword ? PASSWORD_FIELD : ''}
<button type="submit">${escapeHtml(button)}</button>
</form>`;
}

const PASSWORD_FIELD = `<label for="new_password">New password</label>
<input id="new_password" name="new_password" type="password" autocomplete="new-password" minlength="8" maxlength="256" required aria-describedby="hint">
<p id="hint" class="hint">8 characters or more.</p>`;
