import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { documentHtml, escapeHtml } from './html.js';
import { STYLE } from './style.js';

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** A page for people, made of our own words; what is in `body` is HTML already. */
export interface HtmlPage {
  readonly title: string;
  readonly body: string;
  /** Where its forms may lead besides ourselves, also by a redirect afterwards: origins, or schemes with their colon. */
  readonly formTargets?: readonly string[];
}

/** Nothing but the page itself: no scripts, no frames around it, no address of it (which may hold a token) to anyone. */
export function htmlHeaders({ formTargets = [] }: HtmlPage): Record<string, string> {
  const targets = ["'self'", ...formTargets].join(' ');
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action ${targets}; frame-ancestors 'none'; base-uri 'none'`,
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
  };
}

export function htmlDocument({ title, body }: HtmlPage): string {
  return documentHtml({
    title: `${title} · Atelier`,
    style: STYLE,
    body: `<p class="brand">Atelier</p>
<main>
<h1>${escapeHtml(title)}</h1>
${body}
</main>`,
  });
}

/** Answers a request with a page. */
export function sendPage(
  reply: FastifyReply,
  page: HtmlPage,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): FastifyReply {
  return reply
    .status(status)
    .headers({ ...headers, ...htmlHeaders(page) })
    .send(htmlDocument(page));
}

/** Sends the browser on to a page of ours; its address may hold a token, which goes to nobody. */
export function sendOn(reply: FastifyReply, location: string): FastifyReply {
  return reply.header('referrer-policy', 'no-referrer').redirect(location, 303);
}

/** What went wrong, for the top of a page; nothing for nothing. */
export const problemHtml = (problem: string | undefined): string =>
  problem ? `<p class="problem" role="alert">${escapeHtml(problem)}</p>` : '';
