import { escapeHtml } from '../../../platform/http/html.js';
import { type HtmlPage, problemHtml } from '../../../platform/http/html-page.js';

/** What is to be done, in the words of the person who decides. */
export interface ToDecide {
  readonly id: string;
  readonly title: string;
  readonly summary: string;
  readonly action: string;
  readonly workspace: string | null;
  readonly client: string;
  /** Whose client it is, where it is not the person's own. */
  readonly owner: string | null;
  readonly input: unknown;
  readonly minutes: number;
}

interface Form {
  readonly address: string;
  readonly csrf: string;
}

export function signInPage({ address, csrf }: Form, email: string, problem?: string): HtmlPage {
  return {
    title: 'Sign in',
    body: `<p>to see what a program asks you to allow</p>
${problemHtml(problem)}
<form method="post" action="${escapeHtml(address)}/sign-in">
<input type="hidden" name="csrf" value="${escapeHtml(csrf)}">
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="username" maxlength="254" required value="${escapeHtml(email)}"${email ? '' : ' autofocus'}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="256" required${email ? ' autofocus' : ''}${problem ? ' aria-invalid="true"' : ''}>
<button type="submit">Sign in</button>
</form>`,
  };
}

export function decisionPage({ address, csrf }: Form, asked: ToDecide, email: string): HtmlPage {
  const { title, summary, action, workspace, client, owner, input, minutes } = asked;
  return {
    title: `${title}?`,
    body: `<p>${escapeHtml(summary)}. <strong>This cannot be taken back.</strong></p>
<dl class="facts">
<dt>Asked by</dt><dd>${escapeHtml(client)}${owner ? `, of ${escapeHtml(owner)}` : ''}</dd>
${workspace === null ? '' : `<dt>Workspace</dt><dd>${escapeHtml(workspace)}</dd>`}
<dt>Action</dt><dd><code>${escapeHtml(action)}</code></dd>
<dt>With</dt><dd><pre>${escapeHtml(JSON.stringify(input, null, 2))}</pre></dd>
</dl>
<form method="post" action="${escapeHtml(address)}/decide">
<input type="hidden" name="csrf" value="${escapeHtml(csrf)}">
<div class="buttons">
<button type="submit" name="decision" value="allow">Allow once</button>
<button type="submit" name="decision" value="deny" class="quiet">Do not allow</button>
</div>
</form>
<p class="aside">If you did not ask for this, do not allow it. The question is open for ${minutes} more ${minutes === 1 ? 'minute' : 'minutes'}.</p>
${otherAccount({ address, csrf }, email)}`,
  };
}

/** What there is to say once there is nothing to decide. */
export function endPage(form: Form, said: { title: string; text: string }, email: string): HtmlPage {
  return {
    title: said.title,
    body: `<p>${escapeHtml(said.text)}</p>
${otherAccount(form, email)}`,
  };
}

const otherAccount = (
  { address, csrf }: Form,
  email: string,
) => `<form method="post" action="${escapeHtml(address)}/sign-out">
<input type="hidden" name="csrf" value="${escapeHtml(csrf)}">
<p class="aside">You are signed in as ${escapeHtml(email)}. <button type="submit" class="link">Sign out</button></p>
</form>`;
