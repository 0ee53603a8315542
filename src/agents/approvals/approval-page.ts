import {
  escapeHtml,
  type FormPlace,
  formHtml,
  type HtmlPage,
  problemHtml,
  signedInAs,
  signInFields,
} from '../../platform/pages/index.js';
import { plainJson, plainLine, shortName } from '../../platform/text/index.js';
import type { CallWords } from './approval-wording.js';

const MAX_FACT = 200;

/** What is to be done, in the words of the person who decides. */
export interface ToDecide extends CallWords {
  readonly action: string;
  /** Who asks, and where, each with what it is; null where there is none. */
  readonly facts: readonly (readonly [string, string | null])[];
  readonly input: unknown;
  /** How long the question is open. */
  readonly seconds: number;
  /** Else the person may look at it alone. */
  readonly mayDecide: boolean;
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
  const { title, summary, consequence, action, facts, input, seconds, mayDecide } = asked;
  const grave = consequence === null ? '' : ` <strong>${escapeHtml(consequence)}</strong>`;
  const known = facts.filter(([, value]) => value !== null);
  return {
    title: `${title}?`,
    body: `<p>${escapeHtml(plainLine(summary))}.${grave}</p>
<dl class="facts">
${known.map(([name, value]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(shortName(String(value), MAX_FACT))}</dd>`).join('\n')}
<dt>Action</dt><dd><code>${escapeHtml(action)}</code></dd>
<dt>With</dt><dd><pre>${escapeHtml(plainJson(input))}</pre></dd>
</dl>
${mayDecide ? formHtml(`${address}/decide`, csrf, DECISIONS) : LOOKING}
<p class="aside">${mayDecide ? 'If this is not wanted, do not allow it. ' : ''}The question is open for ${durationOf(seconds)}.</p>
${signedInAs(place, email)}`,
  };
}

/** What there is to say once there is nothing to decide. */
export function endPage(place: FormPlace, said: { title: string; text: string }, email: string): HtmlPage {
  return {
    title: said.title,
    body: `<p>${escapeHtml(plainLine(said.text))}</p>
${signedInAs(place, email)}`,
  };
}

const DECISIONS = `<div class="buttons">
<button type="submit" name="decision" value="allow">Allow once</button>
<button type="submit" name="decision" value="deny" class="quiet">Do not allow</button>
</div>`;

const LOOKING =
  '<p>You can see this but not decide it: deciding requires the editor role in the workspace.</p>';

const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** In the largest unit of which there are at least two. */
function durationOf(seconds: number): string {
  const [unit, length] = UNITS.find(([, length]) => seconds >= 2 * length) ?? ['minute', 60];
  const count = Math.max(1, Math.round(seconds / length));
  return `${count} more ${unit}${count === 1 ? '' : 's'}`;
}
