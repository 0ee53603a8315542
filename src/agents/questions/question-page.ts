import { escapeHtml } from '#libs/html/index.js';
import { plainLine } from '#libs/plain-text/index.js';
import {
  type FormPlace,
  formHtml,
  type HtmlPage,
  problemHtml,
  signedInAs,
  timeHtml,
} from '../../platform/pages/index.js';
import { MAX_ANSWER, type QuestionStatus } from './question.js';
import type { QuestionView } from './questions.dto.js';

/** How a question stands for the person who looks: `unknown` is one that they do not see. */
export type Standing = QuestionStatus | 'unknown';

const STATUS: Record<Standing, number> = {
  pending: 200,
  answered: 200,
  expired: 410,
  cancelled: 410,
  unknown: 404,
};
export const statusOf = (standing: Standing): number => STATUS[standing];

/** The question with its form; without it for who may not answer. */
export function questionPage(
  place: FormPlace,
  view: QuestionView,
  { email, isAsked, problem }: { email: string; isAsked: boolean; problem?: string },
): HtmlPage {
  return {
    title: 'An agent asks',
    tellsTimes: true,
    body: `<p>${escapeHtml(plainLine(view.question))}</p>
${problemHtml(problem)}
${isAsked ? formHtml(`${place.address}/answer`, place.csrf, fields(view)) : '<p>You can see this but not answer it: the person for whom the run works does.</p>'}
<p class="aside">Without an answer by ${timeHtml(view.expires_at)} the agent decides itself.</p>
${signedInAs(place, email)}`,
  };
}

function fields({ choices, multiple, allow_text }: QuestionView): string {
  const type = multiple ? 'checkbox' : 'radio';
  const options = choices.map(({ label, description }) => {
    const more = description ? ` <small>${escapeHtml(plainLine(description))}</small>` : '';
    return `<label class="choice"><input type="${type}" name="choice" value="${escapeHtml(label)}"> <span>${escapeHtml(plainLine(label))}${more}</span></label>`;
  });
  const text = `<label for="text">${choices.length > 0 ? 'In your own words' : 'Your answer'}</label>
<input id="text" name="text" maxlength="${MAX_ANSWER}" autocomplete="off">`;
  return `${options.join('\n')}
${allow_text ? text : ''}
<button type="submit">Answer</button>`;
}

const WORDS: Record<Exclude<Standing, 'pending'>, readonly [title: string, text: string]> = {
  answered: ['It is answered', 'The agent goes on with the answer. You can close this page.'],
  expired: ['This is no longer open', 'No one answered in time, and the agent decided itself.'],
  cancelled: ['This is no longer open', 'The run was stopped, or went on without an answer.'],
  unknown: ['There is nothing to answer', 'This link is not for this account, or what it was about is gone.'],
};

/** What there is to say where there is nothing to answer. */
export function endPage(place: FormPlace, standing: Exclude<Standing, 'pending'>, email: string): HtmlPage {
  const [title, text] = WORDS[standing];
  return { title, body: `<p>${text}</p>\n${signedInAs(place, email)}` };
}
