import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { documentHtml, escapeHtml } from '#libs/html/index.js';
import { LOOK } from './look.js';
import { ALLOWS_LOCAL_TIMES, LOCAL_TIMES } from './times.js';

/** How our own pages look; those of shared files have more. */
export const STYLE = `${LOOK}
body{padding:8vh 16px}
main{max-width:28rem;margin:0 auto;padding:32px;background:var(--card);border:1px solid var(--line);border-radius:14px;overflow-wrap:anywhere}
h1{margin:0 0 16px;font-size:1.375rem;line-height:1.3}
p{margin:0 0 12px}
.brand{max-width:28rem;margin:0 auto 12px;padding:0 4px;color:var(--soft);font-weight:600;letter-spacing:.01em}
label{margin:16px 0 4px}
input:not([type=radio],[type=checkbox]){width:100%;padding:10px 12px;border:1px solid var(--soft);border-radius:10px;background:var(--card);color:inherit;font:inherit}
.code{letter-spacing:.15em;text-transform:uppercase}
p.code{font-size:1.375rem;font-weight:600;text-align:center}
.hint{margin:4px 0 0;color:var(--soft);font-size:.875rem}
.facts{margin:0 0 8px;padding:12px 16px;background:var(--code);border-radius:10px}
.facts dt{color:var(--soft);font-size:.875rem}
.facts dd{margin:0 0 8px}
.facts dd:last-child{margin:0}
.facts pre{margin:0;font-size:.875rem;white-space:pre-wrap;overflow-wrap:anywhere}
pre.facts{font-size:.875rem;white-space:pre-wrap;overflow-wrap:anywhere}
.copy{user-select:all}
main>h2{margin:24px 0 4px;font-size:1rem}
fieldset{margin:20px 0 0;padding:0;border:0}
legend{padding:0;margin:0 0 6px;font-weight:600}
.choice{display:flex;gap:10px;align-items:flex-start;margin:0;padding:8px 0;font-weight:400}
.choice input{flex:none;width:18px;height:18px;margin:3px 0 0;accent-color:var(--fill)}
.choice small,.choice span{display:block}
.choice small{color:var(--soft);font-size:.875rem}
.list{max-height:15rem;margin:0 0 0 28px;overflow:auto}
fieldset:has([value=chosen]:not(:checked)) .list.of-choice{display:none}
.list h2{margin:8px 0 0;color:var(--soft);font-size:.875rem;font-weight:600}
.asked{margin:0 0 8px 28px;padding:8px 12px;border-left:4px solid var(--soft)}
.asked h2{margin:0;font-size:.875rem;font-weight:600}
.asked ul{margin:4px 0 0;padding-left:18px;font-size:.9375rem}
.asked.grave{border-color:var(--alarm);background:var(--alarm-ground)}
.buttons{display:flex;flex-wrap:wrap;gap:12px;margin-top:24px}
.button,button{width:100%;margin-top:24px}
.buttons button{flex:1 1 9rem;margin:0}
button.quiet{border-color:var(--link);background:transparent;color:var(--link)}
button.link{width:auto;margin:8px 0 0;padding:4px 0;border:0;background:none;color:var(--link);font-weight:400;text-decoration:underline}
.aside{margin:16px 0 0;color:var(--soft);font-size:.875rem}
@media(max-width:30rem){body{padding:16px 12px}main{padding:24px 20px}}
`;

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** A page for people, made of our own words; what is in `body` is HTML already. */
export interface HtmlPage {
  readonly title: string;
  readonly body: string;
  /** Where its forms may lead besides ourselves, also by a redirect afterwards: origins, or schemes with their colon. */
  readonly formTargets?: readonly string[];
  /** It tells times, which are to be in the zone of whoever looks. */
  readonly tellsTimes?: boolean;
  /** What programs that make previews read: `og:title`. */
  readonly meta?: Readonly<Record<string, string>>;
}

/** Nothing but the page itself: no scripts of others, no frames around it, no address of it (which may hold a token) to anyone. */
export function htmlHeaders({ formTargets = [], tellsTimes }: HtmlPage): Record<string, string> {
  const targets = ["'self'", ...formTargets].join(' ');
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; ${tellsTimes ? `${ALLOWS_LOCAL_TIMES}; ` : ''}form-action ${targets}; frame-ancestors 'none'; base-uri 'none'`,
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
  };
}

export function htmlDocument({ title, body, tellsTimes, meta }: HtmlPage): string {
  return documentHtml({
    title: `${title} · Atelier`,
    style: STYLE,
    meta,
    body: `<p class="brand">Atelier</p>
<main>
<h1>${escapeHtml(title)}</h1>
${body}
</main>${tellsTimes ? LOCAL_TIMES : ''}`,
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

/** Whether whoever asks takes a page: a browser, not a program. */
export const takesPages = ({ headers }: FastifyRequest): boolean =>
  (headers.accept ?? '').includes('text/html');

/** What went wrong, as a page of its own, with a way on. */
export const problemPage = (detail: string, way: { href: string; label: string }): HtmlPage => ({
  title: 'This did not work',
  body: `${problemHtml(`${detail}.`)}
<p><a href="${escapeHtml(way.href)}">${escapeHtml(way.label)}</a></p>`,
});

export const START_WAY = { href: '/', label: 'To the start page' };

/** Sends the browser on to a page of ours; its address may hold a token, which is sent to no one. */
export function sendOn(reply: FastifyReply, location: string): FastifyReply {
  return reply.header('referrer-policy', 'no-referrer').redirect(location, 303);
}

/** What went wrong, for the top of a page; nothing for nothing. */
export const problemHtml = (problem: string | undefined): string =>
  problem ? `<p class="problem" role="alert">${escapeHtml(problem)}</p>` : '';
