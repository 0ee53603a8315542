import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { UpgradeClient } from '#libs/reverse-proxy/index.js';
import { type HtmlPage, htmlDocument, htmlHeaders } from '../../platform/pages/index.js';
import { NOTHING_PUBLISHED } from './pages.js';

type Headers = Readonly<Record<string, string | string[]>>;

/** Answers of the gateway itself are never cached. */
const OWN: Headers = {
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex',
  'x-content-type-options': 'nosniff',
};

export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Headers = {},
): void {
  send(response, status, JSON.stringify(body), {
    'content-type': 'application/json; charset=utf-8',
    ...headers,
  });
}

export function sendHtml(
  response: ServerResponse,
  status: number,
  page: HtmlPage,
  headers: Headers = {},
): void {
  // Forms of ours are to say which origin they come from, which they would not without a referrer.
  const own = { ...htmlHeaders(page), 'referrer-policy': 'same-origin' };
  send(response, status, htmlDocument(page), { ...own, ...headers });
}

export function sendTo(
  response: ServerResponse,
  location: string,
  cookies: string[] = [],
  status = 303,
): void {
  send(response, status, '', { location, 'referrer-policy': 'no-referrer', 'set-cookie': cookies });
}

/** HTML for browsers, JSON for programs. */
export function sendProblem(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  page: HtmlPage & { readonly detail: string },
  headers: Headers = {},
): void {
  if (request.headers.accept?.includes('text/html')) sendHtml(response, status, page, headers);
  else sendJson(response, status, { detail: page.detail }, headers);
}

export interface UpgradeRefusal {
  readonly status: number;
  readonly detail: string;
  /** Seconds. */
  readonly retryAfter?: number | undefined;
}

export function refuseUpgrade(client: UpgradeClient, { status, detail, retryAfter }: UpgradeRefusal): void {
  const body = JSON.stringify({ detail });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(retryAfter === undefined ? [] : [`Retry-After: ${retryAfter}`]),
  ];
  client.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** For a target that has no content yet. */
export const sendNothingPublished = (request: IncomingMessage, response: ServerResponse): void =>
  sendProblem(request, response, 404, NOTHING_PUBLISHED);

function send(response: ServerResponse, status: number, body: string, headers: Headers): void {
  const content = Buffer.from(body);
  // Else the rest of a body that nobody reads would keep the connection for as long as its sender likes.
  const closing = hasUnreadBody(response.req) ? { connection: 'close' } : {};
  response.writeHead(status, { ...OWN, ...headers, ...closing, 'content-length': content.length });
  response.end(response.req.method === 'HEAD' ? undefined : content);
}

function hasUnreadBody({ headers, complete }: IncomingMessage): boolean {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  return hasBody && !complete;
}

const MAX_FORM_BYTES = 16_384;

/** Undefined if the body exceeds the limit. */
export async function readBody(
  request: IncomingMessage,
  maxBytes = MAX_FORM_BYTES,
): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
