import type { FastifyReply } from 'fastify';
import { escapeHtml, newPasswordField, problemHtml, sendPage } from '../../../platform/pages/index.js';

/** A page of one heading, some text and at most one form. */
export interface AuthPage {
  readonly title: string;
  readonly text?: string;
  /** What went wrong with the form that was sent. */
  readonly problem?: string;
  readonly form?: {
    readonly action: string;
    readonly token?: string;
    readonly button: string;
    readonly asks?: 'email' | 'new_password';
  };
}

export function sendAuthPage(
  reply: FastifyReply,
  page: AuthPage,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): FastifyReply {
  return sendPage(reply, { title: page.title, body: bodyOf(page) }, status, headers);
}

function bodyOf({ text, problem, form }: AuthPage): string {
  return `${problemHtml(problem)}
${text ? `<p>${escapeHtml(text)}</p>` : ''}
${form ? renderForm(form) : ''}`;
}

function renderForm({ action, token = '', button, asks }: NonNullable<AuthPage['form']>): string {
  return `<form method="post" action="${action}">
<input type="hidden" name="token" value="${escapeHtml(token)}">
${asks ? FIELDS[asks] : ''}
<button type="submit">${escapeHtml(button)}</button>
</form>`;
}

const FIELDS = {
  email: `<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="username" maxlength="254" required autofocus>`,
  new_password: newPasswordField('new_password', 'New password'),
};
