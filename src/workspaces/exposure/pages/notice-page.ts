import type { FastifyReply } from 'fastify';
import { html } from '../../../platform/pages/index.js';
import { icon } from './icons.js';
import { sendSharePage } from './layout.js';

const NOTICES = {
  nowhere: {
    status: 404,
    title: 'There is nothing here',
    text: 'The link may be mistyped or withdrawn, or what it led to was moved. Whoever gave it to you can make a new one.',
  },
  expired: {
    status: 410,
    title: 'This link has expired',
    text: 'It was made for a while, and that time is over. Ask whoever gave it to you for a new one.',
  },
  not_for_saving: {
    status: 403,
    title: 'This link is for looking only',
    text: 'Nothing can be downloaded through it. Ask whoever gave it to you for one that allows it.',
  },
} as const;

/** A page of a few words, instead of what was asked for. */
export function sendNotice(reply: FastifyReply, notice: keyof typeof NOTICES): void {
  const { status, title, text } = NOTICES[notice];
  sendWords(reply, status, title, text);
}

export function sendWords(
  reply: FastifyReply,
  status: number,
  title: string,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = html`<div class="card empty">${icon('file')}<h1>${title}</h1><p class="meta">${text}</p></div>`;
  sendSharePage(reply, { status, title, body, headers, narrow: true });
}
