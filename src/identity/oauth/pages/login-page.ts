import {
  escapeHtml,
  formHtml,
  type HtmlPage,
  problemHtml,
  signInFields,
} from '../../../platform/pages/index.js';
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
${formHtml(action, csrf, signInFields(email, problem))}
<p class="aside">You are asked what ${escapeHtml(client.name)} may do before it gets in.</p>`,
  };
}
