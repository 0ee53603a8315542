import type { IncomingMessage } from 'node:http';
import { endsHere, isAllowedInTrailers, isFieldValue, type RawHeaders, valuesOf } from './fields.js';
import { ProxyError } from './proxy-error.js';
import type { ForwardRules } from './request-head.js';

/** Headers of an answer, and its trailers, at most. */
export const MAX_FIELDS = 256;
const LENGTH = /^\d{1,15}$/;
/** Headers that steer a proxy in front of us, or where clients look for the site: none that a server behind us may say. */
const REFUSED = /^(?:x-accel-.*|x-sendfile.*|x-lighttpd-send-file|alt-svc)$/;
const COOKIE_DOMAIN = /;[\t ]*domain[\t ]*(?:=[^;]*)?(?=;|$)/gi;

export interface AnswerHead {
  readonly status: number;
  readonly reason: string;
  readonly headers: RawHeaders;
  /** Bytes of the body: a number, `chunked`, or `close` where it ends with the connection. */
  readonly body: number | 'chunked' | 'close';
}

/** The head of a final answer, or of a switch of protocols. Throws ProxyError (`invalid`) for what Node's parser lets through. */
export function headOf(answer: IncomingMessage, method: string): AnswerHead {
  const { statusCode: status = 0, statusMessage: reason = '', rawHeaders: headers, httpVersion } = answer;
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    throw new ProxyError('invalid', `The answer is HTTP/${httpVersion}`);
  if ((status < 200 && status !== 101) || status > 599 || !isFieldValue(reason))
    throw new ProxyError('invalid', 'The answer does not begin with a valid status line');
  requireFew(headers);
  const codings = valuesOf(headers, 'transfer-encoding');
  const [length] = valuesOf(headers, 'content-length');
  if (codings.length > 1 || (codings[0] !== undefined && codings[0].toLowerCase() !== 'chunked'))
    throw new ProxyError('invalid', 'The answer has a Transfer-Encoding other than chunked');
  if (codings.length > 0 && httpVersion === '1.0')
    throw new ProxyError('invalid', 'The answer is HTTP/1.0 and has a Transfer-Encoding');
  if (length !== undefined && !LENGTH.test(length))
    throw new ProxyError('invalid', 'The answer has no valid Content-Length');
  const isEmpty = status < 200 || status === 204 || status === 304 || method === 'HEAD';
  const size = length === undefined ? 'close' : Number(length);
  return { status, reason, headers, body: isEmpty ? 0 : codings.length > 0 ? 'chunked' : size };
}

/** The headers of an answer that go on to the client, names and values in turn. */
export function answerHeaders({ headers, status, body }: AnswerHead, rules: ForwardRules): string[] {
  const change = rules.responseHeader ?? ((_name, value) => value);
  const ends = endsHere(headers);
  const sent: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const written = headers[at] ?? '';
    const name = written.toLowerCase();
    const announces = name === 'trailer' && body === 'chunked';
    if ((ends(name) && !announces) || REFUSED.test(name)) continue;
    // RFC 9110, section 8.6: an answer without a body by its status has no length.
    if (name === 'content-length' && (status === 204 || status < 200)) continue;
    const isNarrowed = name === 'set-cookie' && !rules.isOutbound;
    const own = isNarrowed ? headers[at + 1]?.replace(COOKIE_DOMAIN, '') : headers[at + 1];
    const value = change(name, own ?? '');
    if (value !== undefined) sent.push(written, value);
  }
  return sent;
}

/** The trailers that go on to the client, in pairs. */
export function answerTrailers(trailers: RawHeaders): [string, string][] {
  requireFew(trailers);
  const sent: [string, string][] = [];
  for (let at = 0; at < trailers.length; at += 2) {
    const [name = '', value = ''] = trailers.slice(at, at + 2);
    if (isAllowedInTrailers(name.toLowerCase())) sent.push([name, value]);
  }
  return sent;
}

function requireFew(fields: RawHeaders): void {
  if (fields.length > MAX_FIELDS * 2)
    throw new ProxyError('invalid', `The answer has more than ${MAX_FIELDS} headers`);
}
