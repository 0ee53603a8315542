import { escapeHtml } from '#libs/html/index.js';
import type { Actor } from '../../platform/access/index.js';
import {
  type FormPlace,
  formHtml,
  type HtmlPage,
  problemHtml,
  signedInAs,
  signInForm,
} from '../../platform/pages/index.js';
import type { FlowRequest } from './flow.js';
import type { KeptOutcome } from './flows.store.js';

/** Asks who began it to sign in; the form leads on to the provider, and wherever that signs people in. */
export function signInPage(
  { address, csrf }: FormPlace,
  { provider, endpoint }: FlowRequest,
  email: string,
  problem?: string,
): HtmlPage {
  const body = `<p>Sign in to go on to ${escapeHtml(provider)}. It has to be the account that began this.</p>
${signInForm(`${address}/sign-in`, csrf, email, problem)}`;
  return { title: `Connect ${provider}`, body, formTargets: [new URL(endpoint).protocol] };
}

export function otherPersonPage(place: FormPlace, person: Actor): HtmlPage {
  const body = `<p class="problem" role="alert">Another account began this. Only that one can go on, so that nobody authorizes what is another's.</p>
${signedInAs(place, person.email ?? person.name, 'Sign in as another')}`;
  return { title: 'This is not yours to authorize', body };
}

const INTERRUPTED: KeptOutcome = {
  title: 'This did not end',
  text: 'The service was interrupted.',
  isFailure: true,
};

/** Shows the outcome, or the question that it depends on. */
export function resultPage(
  { address, csrf }: FormPlace,
  outcome: KeptOutcome | null,
  returnPath: string | undefined,
): HtmlPage {
  const { title, text, yes, isFailure } = outcome ?? INTERRUPTED;
  const says = isFailure ? problemHtml(text) : `<p>${escapeHtml(text)}</p>`;
  const on = returnPath
    ? `<a class="button" href="${escapeHtml(returnPath)}">${isFailure ? 'Go back and try again' : 'Go on'}</a>`
    : `<p class="aside">${isFailure ? 'Start again where you began. ' : ''}You can close this page.</p>`;
  const question = `${formHtml(
    `${address}/answer`,
    csrf,
    `<div class="buttons"><button name="answer" value="yes">${escapeHtml(yes ?? '')}</button>
<button name="answer" value="no" class="quiet">Leave it as it was</button></div>`,
  )}`;
  return { title, body: `${says}\n${yes === undefined ? on : question}` };
}
