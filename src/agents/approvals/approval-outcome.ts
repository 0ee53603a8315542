import type { ApprovalRow } from './approval.js';

/** How a question stands: `used` is allowed and done, `withdrawn` is of no use any more to those who asked. */
export type Standing = 'open' | 'expired' | 'withdrawn' | 'allowed' | 'denied' | 'used';

/** A question that is not open, or that this person has nothing to do with. */
export interface Settled {
  readonly standing: Exclude<Standing, 'open'> | 'unknown';
  readonly isOfRun?: boolean;
  /** Who decided, where it was not the person who looks. */
  readonly decider?: string | null;
}

export function standingOf({ status, subject_kind, used_at, expires_at }: ApprovalRow): Standing {
  const isOver = Date.parse(expires_at) <= Date.now();
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
  const who = decider ?? 'Somebody else';
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
          ? 'Nobody decided in time. Nothing was done, and the run has ended.'
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
          isOfRun ? 'The agent is told so.' : 'The program is told so.'
        } You can close this page.`,
      };
  }
}
