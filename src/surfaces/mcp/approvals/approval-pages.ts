import { type FormPlace, formHtml, signedInAs, signInFields } from '../../../platform/pages/forms.js';
import { escapeHtml } from '../../../platform/pages/html.js';
import { type HtmlPage, problemHtml } from '../../../platform/pages/page.js';

/** What is to be done, in the words of the person who decides. */
export interface ToDecide {
  readonly id: string;
  readonly title: string;
  readonly summary: string;
  readonly consequence: string;
  readonly action: string;
  readonly workspace: string | null;
  readonly client: string;
  /** Whose client it is, where it is not the person's own. */
  readonly owner: string | null;
  readonly input: unknown;
  readonly minutes: number;
}

export function signInPage({ address, csrf }: FormPlace, email: string, problem?: string): HtmlPage {
  return {
    title: 'Sign in',
    body: `<p>to see what a program asks you to allow</p>
${problemHtml(problem)}
${formHtml(`${address}/sign-in`, csrf, signInFields(email, problem))}`,
  };
}

export function decisionPage(place: FormPlace, asked: ToDecide, email: string): HtmlPage {
  const { address, csrf } = place;
  const { title, summary, consequence, action, workspace, client, owner, input, minutes } = asked;
  return {
    title: `${title}?`,
    body: `<p>${escapeHtml(summary)}. <strong>${escapeHtml(consequence)}</strong></p>
<dl class="facts">
<dt>Asked by</dt><dd>${escapeHtml(client)}${owner ? `, of ${escapeHtml(owner)}` : ''}</dd>
${workspace === null ? '' : `<dt>Workspace</dt><dd>${escapeHtml(workspace)}</dd>`}
<dt>Action</dt><dd><code>${escapeHtml(action)}</code></dd>
<dt>With</dt><dd><pre>${escapeHtml(JSON.stringify(input, null, 2))}</pre></dd>
</dl>
${formHtml(`${address}/decide`, csrf, DECISIONS)}
<p class="aside">If you did not ask for this, do not allow it. The question is open for ${minutes} more ${minutes === 1 ? 'minute' : 'minutes'}.</p>
${signedInAs(place, email)}`,
  };
}

/** What there is to say once there is nothing to decide. */
export function endPage(place: FormPlace, said: { title: string; text: string }, email: string): HtmlPage {
  return {
    title: said.title,
    body: `<p>${escapeHtml(said.text)}</p>
${signedInAs(place, email)}`,
  };
}

const DECISIONS = `<div class="buttons">
<button type="submit" name="decision" value="allow">Allow once</button>
<button type="submit" name="decision" value="deny" class="quiet">Do not allow</button>
</div>`;
