import type { KoaContextWithOIDC } from 'oidc-provider';
import { type HtmlPage, htmlDocument, htmlHeaders } from '../../../platform/pages/index.js';

/** Answers with a page where oidc-provider holds the request. */
export function sendOnKoa(ctx: KoaContextWithOIDC, page: HtmlPage): void {
  ctx.body = htmlDocument(page);
  ctx.set(htmlHeaders(page));
}
