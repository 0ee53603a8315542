import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { documentHtml, escapeHtml } from '#libs/html/index.js';

/** How our own pages look; those of shared files have a style of their own. */
export const STYLE = `
*{box-sizing:border-box}
:root{color-scheme:light dark}
body{margin:0;padding:8vh 16px;background:#f4f4f2;color:#1d1d1b;font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:28rem;margin:0 auto;padding:32px;background:#fff;border:1px solid #e2e2de;border-radius:12px;overflow-wrap:anywhere}
h1{margin:0 0 16px;font-size:1.375rem;line-height:1.3}
p{margin:0 0 12px}
a{color:#1d4ed8}
.brand{max-width:28rem;margin:0 auto 12px;padding:0 4px;color:#5c5c57;font-weight:600;letter-spacing:.01em}
label{display:block;margin:16px 0 4px;font-weight:600}
input:not([type=radio],[type=checkbox]){width:100%;padding:10px 12px;border:1px solid #8a8a84;border-radius:8px;background:#fff;color:inherit;font:inherit}
.code{letter-spacing:.15em;text-transform:uppercase}
p.code{font-size:1.375rem;font-weight:600;text-align:center}
.hint{margin:4px 0 0;color:#5c5c57;font-size:.875rem}
.problem{padding:10px 12px;border-left:4px solid #b91c1c;background:#fef2f2}
.facts{margin:0 0 8px;padding:12px 16px;background:#f4f4f2;border-radius:8px}
.facts dt{color:#5c5c57;font-size:.875rem}
.facts dd{margin:0 0 8px}
.facts dd:last-child{margin:0}
.facts pre{margin:0;font-size:.875rem;white-space:pre-wrap;overflow-wrap:anywhere}
pre.facts{font-size:.875rem;white-space:pre-wrap;overflow-wrap:anywhere}
.copy{user-select:all}
main>h2{margin:24px 0 4px;font-size:1rem}
fieldset{margin:20px 0 0;padding:0;border:0}
legend{padding:0;margin:0 0 6px;font-weight:600}
.choice{display:flex;gap:10px;align-items:flex-start;margin:0;padding:8px 0;font-weight:400}
.choice input{flex:none;width:18px;height:18px;margin:3px 0 0;accent-color:#1d4ed8}
.choice small,.choice span{display:block}
.choice small{color:#5c5c57;font-size:.875rem}
.list{max-height:15rem;margin:0 0 0 28px;overflow:auto}
fieldset:has([value=chosen]:not(:checked)) .list.of-choice{display:none}
.list h2{margin:8px 0 0;color:#5c5c57;font-size:.875rem;font-weight:600}
.asked{margin:0 0 8px 28px;padding:8px 12px;border-left:4px solid #8a8a84}
.asked h2{margin:0;font-size:.875rem;font-weight:600}
.asked ul{margin:4px 0 0;padding-left:18px;font-size:.9375rem}
.asked.grave{border-color:#b91c1c;background:#fef2f2}
.buttons{display:flex;flex-wrap:wrap;gap:12px;margin-top:24px}
button{width:100%;margin-top:24px;padding:12px 24px;border:1px solid #1d4ed8;border-radius:8px;background:#1d4ed8;color:#fff;font:inherit;font-weight:600;cursor:pointer}
.buttons button{flex:1 1 9rem;margin:0}
a.button{display:block;margin-top:24px;padding:12px 24px;border:1px solid #1d4ed8;border-radius:8px;background:#1d4ed8;color:#fff;font-weight:600;text-align:center;text-decoration:none}
button.quiet{background:transparent;color:#1d4ed8}
button.link{width:auto;margin:8px 0 0;padding:4px 0;border:0;background:none;color:#1d4ed8;font-weight:400;text-decoration:underline}
.aside{margin:16px 0 0;color:#5c5c57;font-size:.875rem}
:focus-visible{outline:3px solid #1d4ed8;outline-offset:2px}
@media(max-width:30rem){body{padding:16px 12px}main{padding:24px 20px}}
@media(prefers-color-scheme:dark){body{background:#18181a;color:#ededeb}main{background:#232326;border-color:#3a3a3e}a:not(.button),button.quiet,button.link{color:#93b4fd}input:not([type=radio],[type=checkbox]){background:#18181a}.facts{background:#18181a}.hint,.brand,.aside,.facts dt,.choice small,.list h2{color:#a9a9a4}.problem,.asked.grave{background:#3b1a1a}.asked.grave{border-color:#f87171}:focus-visible{outline-color:#93b4fd}button.quiet{border-color:#93b4fd}}
`;

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** A page for people, made of our own words; what is in `body` is HTML already. */
export interface HtmlPage {
  readonly title: string;
  readonly body: string;
  /** Where its forms may lead besides ourselves, also by a redirect afterwards: origins, or schemes with their colon. */
  readonly formTargets?: readonly string[];
  /** What programs that make previews read: `og:title`. */
  readonly meta?: Readonly<Record<string, string>>;
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

export function htmlDocument({ title, body, meta }: HtmlPage): string {
  return documentHtml({
    title: `${title} · Atelier`,
    style: STYLE,
    meta,
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
