import { textOf } from '#libs/exact-json/index.js';
import { escapeHtml } from '#libs/html/index.js';
import { plainJson, plainLine, shortName } from '#libs/plain-text/index.js';
import { type FormPlace, formHtml, type HtmlPage, signedInAs } from '../../platform/pages/index.js';
import type { ApprovalRow } from './approval.js';
import type { CallWords } from './approval-wording.js';

/** How a question stands: `used` is allowed and done, `withdrawn` is of no use any more to those who asked. */
export type Standing = 'open' | 'expired' | 'withdrawn' | 'allowed' | 'denied' | 'used';

/** A question that is not open, or that this person has nothing to do with. */
export interface Settled {
  readonly standing: Exclude<Standing, 'open'> | 'unknown';
  readonly isOfRun?: boolean;
  /** Who decided, where it was not the person who looks. */
  readonly decider?: string | null;
}

/** `now` is the time of the database. */
export function standingOf({ status, subject_kind, used_at, expires_at }: ApprovalRow, now: Date): Standing {
  const isOver = Date.parse(expires_at) <= now.getTime();
  if (status === 'denied') return 'denied';
  if (used_at !== null) return 'used';
  if (status === 'cancelled') return 'withdrawn';
  if (status === 'allowed' && subject_kind === 'run_tool_call') return 'allowed';
  // A client has to come back in time with what is allowed, too.
  if (status === 'expired' || isOver) return 'expired';
  return status === 'pending' ? 'open' : 'allowed';
}

const STATUS: Record<Settled['standing'], number> = {
  unknown: 404,
  expired: 410,
  withdrawn: 410,
  allowed: 200,
  denied: 200,
  used: 200,
};

export const statusOf = (standing: Settled['standing']): number => STATUS[standing];

/** What there is to say once there is nothing to decide. */
export function wordsOn({ standing, isOfRun, decider }: Settled): { title: string; text: string } {
  const who = decider ?? 'Another person';
  switch (standing) {
    case 'unknown':
      return {
        title: 'There is nothing to decide',
        text: 'This link is not for this account, or what it was about is long over.',
      };
    case 'expired':
      return {
        title: 'This is no longer open',
        text: isOfRun
          ? 'No one decided in time. Nothing was done, and the run has ended.'
          : 'Nothing was done. If it is still wanted, you are asked again.',
      };
    case 'withdrawn':
      return {
        title: 'This is no longer open',
        text: isOfRun
          ? 'Nothing was done: the run was stopped, or went on without it.'
          : 'Nothing was done. If it is still wanted, you are asked again.',
      };
    case 'used':
      return { title: 'It is done', text: 'It was allowed, and it was done once. You can close this page.' };
    case 'allowed':
      return {
        title: decider === undefined ? 'You allowed it' : 'It was allowed',
        text: `${decider === undefined ? '' : `${who} allowed it. `}${
          isOfRun ? 'The run goes on, and does it once.' : 'The program may do it once, now.'
        } You can close this page.`,
      };
    case 'denied':
      return {
        title: decider === undefined ? 'You did not allow it' : 'It was not allowed',
        text: `${decider === undefined ? '' : `${who} did not allow it. `}${
          isOfRun ? 'The agent is notified.' : 'The program is notified.'
        } You can close this page.`,
      };
  }
}

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

export function decisionPage(place: FormPlace, asked: ToDecide, email: string): HtmlPage {
  const { address, csrf } = place;
  const { title, summary, consequence, action, facts, input, seconds, mayDecide } = asked;
  const grave = consequence === null ? '' : ` <strong>${escapeHtml(consequence)}</strong>`;
  const more = [title === summary ? '' : `${escapeHtml(plainLine(summary))}.`, grave].join('').trim();
  const said = more === '' ? '' : `<p>${more}</p>`;
  const known = facts.filter(([, value]) => value !== null);
  return {
    title: `${title}?`,
    body: `${said}
<dl class="facts">
${known.map(([name, value]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(shortName(textOf(value), MAX_FACT))}</dd>`).join('\n')}
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
