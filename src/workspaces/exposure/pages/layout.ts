import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { documentHtml, type Html, html } from '../../../platform/pages/index.js';
import { STYLE } from './style.js';

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

export interface SharePage {
  readonly title: string;
  readonly body: Html;
  /** One thing in the middle instead of the width of the window. */
  readonly narrow?: boolean;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether it shows a PDF, which browsers refuse to show within a sandbox. */
  readonly showsPdf?: boolean;
}

/** What a page may load: what lies beside it, to look at. No script, of ours or anybody's. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${STYLE_HASH}'`,
  "img-src 'self'",
  "media-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');
const SANDBOX = 'sandbox allow-same-origin allow-forms allow-downloads';

export function sendSharePage(reply: FastifyReply, page: SharePage): void {
  const policy = page.showsPdf ? `${POLICY}; object-src 'self'; frame-src 'self'` : `${POLICY}; ${SANDBOX}`;
  void reply
    .status(page.status ?? 200)
    .headers({
      ...page.headers,
      'content-security-policy': policy,
      'x-frame-options': 'DENY',
      'cache-control': 'no-store',
      'content-type': 'text/html; charset=utf-8',
    })
    .send(documentOf(page));
}

function documentOf({ title, body, narrow }: SharePage): string {
  const content = html`<a class="skip" href="#content">Skip to the content</a>
<main class="${narrow ? 'page narrow' : 'page'}" id="content">
${body}
</main>
<footer>Shared with Atelier</footer>`;
  return documentHtml({ title, style: STYLE, body: content.text });
}
