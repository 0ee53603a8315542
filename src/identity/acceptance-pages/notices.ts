import { escapeHtml } from '#libs/html/index.js';
import { shortName } from '#libs/plain-text/index.js';
import type { HtmlPage } from '../../platform/pages/index.js';

const NOTICES = {
  unknown: {
    status: 404,
    title: 'There is no such invitation',
    text: 'It was withdrawn or declined, or the link is mistyped.',
    ask: true,
  },
  expired: { status: 410, title: 'This invitation has expired', text: 'Its time is over.', ask: true },
  revoked: {
    status: 410,
    title: 'This invitation was withdrawn',
    text: 'It cannot be used any more.',
    ask: true,
  },
  declined: {
    status: 200,
    title: 'You declined',
    text: 'Nothing was changed. You can close this page.',
    ask: false,
  },
  suspended: {
    status: 409,
    title: 'This is not open at the moment',
    text: 'Whoever shared it with you may no longer do so.',
    ask: true,
  },
} as const;

export type NoticeOf = keyof typeof NOTICES;

/** What there is to say of an invitation with which nothing can be done. */
export function noticePage(notice: NoticeOf, inviter?: string | null): HtmlPage & { status: number } {
  const { status, title, text, ask } = NOTICES[notice];
  const who = inviter ? shortName(inviter) : 'whoever invited you';
  const advice = ask ? ` Ask ${who} for a new one.` : '';
  return { status, title, body: `<p>${escapeHtml(`${text}${advice}`)}</p>` };
}
