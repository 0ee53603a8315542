import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { LRUCache } from 'lru-cache';
import { documentHtml, Html, html } from '#libs/html/index.js';
import { ALLOWS_LOCAL_TIMES, LOCAL_TIMES, timeHtml } from '../../../platform/pages/index.js';
import { STYLE } from './style.js';

const DOC = '<path d="M6 3h8l5 5v12a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1z"/><path d="M14 3v5h5"/>';
const SHAPES = {
  folder:
    '<path d="M3 6.5A1.5 1.5 0 0 1 4.5 5h4.7l2 2.3h8.3A1.5 1.5 0 0 1 21 8.8v9.2a1.5 1.5 0 0 1-1.5 1.5h-15A1.5 1.5 0 0 1 3 18z"/>',
  file: DOC,
  text: `${DOC}<path d="M8.5 12.5h7M8.5 16h5"/>`,
  table:
    '<rect x="3.5" y="4.5" width="17" height="15" rx="1.5"/><path d="M3.5 9.5h17M3.5 14.5h17M9.5 4.5v15"/>',
  image:
    '<rect x="3.5" y="4.5" width="17" height="15" rx="1.5"/><circle cx="9" cy="10" r="1.6"/><path d="m4 18 5-4.5 3.5 3 3-3 5 4.5"/>',
  pdf: `${DOC}<path d="M8.5 17v-4.5h1.6a1.4 1.4 0 0 1 0 2.8H8.5M13.5 12.5v4.5M13.5 12.5h2.3M13.5 14.7h1.8"/>`,
  audio: '<path d="M9 18V6l10-2v12"/><circle cx="6.5" cy="18" r="2.5"/><circle cx="16.5" cy="16" r="2.5"/>',
  video: '<rect x="3.5" y="5" width="17" height="14" rx="1.5"/><path d="m10.5 9.5 4.5 2.5-4.5 2.5z"/>',
  lock: '<rect x="5" y="11" width="14" height="9.5" rx="2"/><path d="M8 11V8a4 4 0 0 1 8 0v3"/>',
  inbox:
    '<path d="M12 4v10m0 0 4-4m-4 4-4-4"/><path d="M4 15v3.5A1.5 1.5 0 0 0 5.5 20h13a1.5 1.5 0 0 0 1.5-1.5V15"/>',
} as const;

export type IconName = keyof typeof SHAPES;

export const icon = (name: IconName): Html =>
  new Html(
    `<svg class="icon ${name}" viewBox="0 0 24 24" aria-hidden="true" focusable="false">${SHAPES[name]}</svg>`,
  );

export const SAVE_ICON = new Html(
  '<svg width="18" height="18" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="M12 4v11m0 0 4.5-4.5M12 15l-4.5-4.5M5 20h14"/></svg>',
);

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];

export function sizeInWords(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

export const timeInWords = (iso: string): Html => new Html(timeHtml(iso));

export const countInWords = (count: number, one: string, many: string): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

interface Sheet {
  readonly css: string;
  readonly hash: string;
}

const makeSheet = (css: string): Sheet => ({ css, hash: createHash('sha256').update(css).digest('base64') });
const PLAIN = makeSheet(STYLE);

/** By what they have besides {@link STYLE}. */
const sheets = new LRUCache<string, Sheet>({ max: 200 });

function findStyle({ style }: SharePage): Sheet {
  if (style === undefined) return PLAIN;
  const known = sheets.get(style);
  if (known) return known;
  const made = makeSheet(STYLE + style);
  sheets.set(style, made);
  return made;
}

export interface SharePage {
  readonly title: string;
  readonly body: Html;
  readonly narrow?: boolean;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Browsers refuse to show a PDF within a sandbox. */
  readonly showsPdf?: boolean;
  readonly style?: string;
  /** Origins that may show it in a frame; absent: none. */
  readonly frameAncestors?: readonly string[];
  /** Origins that its forms may lead to besides its own, also by a redirect. */
  readonly formTargets?: readonly string[];
  /** It runs scripts and workers of our own, and connects to us. */
  readonly runsScripts?: boolean;
  /** It tells times, which are to be in the zone of the visitor. */
  readonly tellsTimes?: boolean;
}

const SANDBOX = 'sandbox allow-same-origin allow-forms allow-downloads';

/** A page loads only what lies beside it, and no script unless it says so. */
function buildPolicy(page: SharePage): string {
  const { showsPdf, runsScripts, tellsTimes, frameAncestors = [], formTargets = [] } = page;
  const styles = [`'sha256-${findStyle(page).hash}'`, ...(runsScripts ? ["'self'"] : [])];
  const parts = [
    "default-src 'none'",
    `style-src ${styles.join(' ')}`,
    "img-src 'self'",
    "media-src 'self'",
    `form-action ${["'self'", ...formTargets].join(' ')}`,
    `frame-ancestors ${frameAncestors.length > 0 ? frameAncestors.join(' ') : "'none'"}`,
    "base-uri 'none'",
  ];
  if (runsScripts) parts.push("script-src 'self'", "worker-src 'self'", "connect-src 'self'");
  else if (tellsTimes) parts.push(ALLOWS_LOCAL_TIMES);
  if (showsPdf) parts.push("object-src 'self'", "frame-src 'self'");
  else parts.push(runsScripts || tellsTimes ? `${SANDBOX} allow-scripts` : SANDBOX);
  return parts.join('; ');
}

export function sendSharePage(reply: FastifyReply, page: SharePage): void {
  sendDocument(reply, page.status ?? 200, buildHeaders(page), renderDocument(page));
}

/** What {@link sendSharePage} sends, for those who made it before. */
export function sendDocument(
  reply: FastifyReply,
  status: number,
  headers: Readonly<Record<string, string | number>>,
  document: string,
): void {
  void reply.status(status).headers(headers).send(document);
}

export function buildHeaders(page: SharePage): Record<string, string> {
  const isFramed = (page.frameAncestors?.length ?? 0) > 0;
  return {
    ...page.headers,
    'content-security-policy': buildPolicy(page),
    ...(!isFramed && { 'x-frame-options': 'DENY' }),
    'cache-control': 'no-store',
    'content-type': 'text/html; charset=utf-8',
  };
}

/** The whole of a page, for those who send it often. */
export function renderDocument(page: SharePage): string {
  const { title, body, narrow, tellsTimes } = page;
  const content = html`<a class="skip" href="#content">Skip to the content</a>
<main class="${narrow ? 'page narrow' : 'page'}" id="content">
${body}
</main>
<footer>Shared with Atelier</footer>
${tellsTimes && new Html(LOCAL_TIMES)}`;
  return documentHtml({ title, style: findStyle(page).css, body: content.text });
}

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

export const problemHtml = (problem: string | undefined): Html =>
  problem ? html`<p class="problem" role="alert">${problem}</p>` : html``;

/** Asks for the password, and says nothing of what is behind it. */
export function passwordPage(home: string, next: string, noun: string, problem?: string): SharePage {
  const body = html`<div class="card inside">${icon('lock')}<h1>This ${noun} has a password</h1>
<p class="lead">Enter it to see what was shared with you.</p>
${problemHtml(problem)}
<form method="post" action="${home}/unlock">
<input type="hidden" name="next" value="${next}">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="256" required autofocus>
<button type="submit">Open</button>
</form></div>`;
  return { title: 'Password', body, narrow: true };
}
