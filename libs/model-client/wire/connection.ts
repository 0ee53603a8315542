import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Readable } from 'node:stream';
import { urlToHttpOptions } from 'node:url';
import { APICallError } from '@ai-sdk/provider';
import type { Cancellation } from '../cancellation.js';
import { connectionError } from './connection-error.js';
import { decoded } from './decoded.js';
import { errorText } from './error-body.js';

/** Where requests go. Its address is taken apart once. */
export class Endpoint {
  readonly options: http.RequestOptions;
  readonly isSecure: boolean;

  constructor(readonly url: string) {
    this.isSecure = url.startsWith('https:');
    this.options = { ...urlToHttpOptions(new URL(url)), method: 'POST' };
  }
}

export interface JsonPost {
  endpoint: Endpoint;
  headers: Record<string, string | undefined>;
  /** The JSON. */
  text: string;
  cancellation?: Cancellation;
  /** Blotted out of error bodies that echo it. */
  key?: string;
}

/** As `fetch` has it: a server that is there takes a connection within seconds. */
const CONNECT_MS = 10_000;

/**
 * Sends JSON, and resolves with the answer's body as soon as its headers are there. Any status but 2xx is thrown as an
 * {@link APICallError}: redirects are not followed, since a key in a header would travel along. Node's own agents keep connections
 * alive, and use the proxies of the environment where Node is told to (`NODE_USE_ENV_PROXY`), like `fetch`.
 */
export async function postJson(post: JsonPost, connectMs = CONNECT_MS): Promise<Readable> {
  const response = await send(post, connectMs);
  const { statusCode = 0 } = response;
  if (statusCode >= 200 && statusCode < 300) return decoded(response);
  throw new APICallError({
    message: response.statusMessage ?? '',
    url: post.endpoint.url,
    requestBodyValues: undefined,
    statusCode,
    responseHeaders: headersOf(response),
    responseBody: await errorText(decoded(response), post.key),
  });
}

function send(
  { endpoint, headers, text, cancellation }: JsonPost,
  connectMs: number,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    if (cancellation?.reason !== undefined) throw cancellation.reason;
    const request = (endpoint.isSecure ? https : http).request({
      ...endpoint.options,
      headers: {
        accept: 'text/event-stream, application/json',
        'user-agent': 'model-client',
        ...defined(headers),
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
      },
    });
    const cancel = (reason: unknown) => void request.destroy(reason as Error);
    cancellation?.onCancel(cancel);
    let connecting: NodeJS.Timeout | undefined;
    request.once('socket', socket => {
      if (!socket.connecting) return;
      connecting = setTimeout(() => request.destroy(notConnected(connectMs)), connectMs);
      socket.once(endpoint.isSecure ? 'secureConnect' : 'connect', () => clearTimeout(connecting));
    });
    request.once('close', () => {
      clearTimeout(connecting);
      cancellation?.offCancel(cancel);
    });
    request.once('response', resolve);
    // Also hears of what happens to the connection later, which the reader of the answer is told by the answer.
    request.on('error', error => reject(cancellation?.reason ?? connectionError(error, endpoint.url)));
    // As text, it leaves with the headers in one piece.
    request.end(text);
  });
}

function notConnected(ms: number): Error {
  return Object.assign(new Error(`no connection within ${ms / 1000} seconds`), { code: 'ETIMEDOUT' });
}

function defined(headers: JsonPost['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]),
  );
}
