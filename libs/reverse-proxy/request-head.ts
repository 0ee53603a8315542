import type { IncomingMessage, RequestOptions } from 'node:http';
import type { AnswerHead } from './answer-head.js';
import { endsHere, isFieldValue, membersOf, valuesOf } from './fields.js';

/** How a request and its answer are changed on their way. */
export interface ForwardRules {
  /** The `Host` that the upstream sees; as received unless given. */
  readonly host?: string;
  /** The scheme that the client used. */
  readonly scheme: 'http' | 'https';
  /** Whether the peer is a proxy whose X-Forwarded-* and X-Real-IP may be believed; others' are replaced or dropped. */
  readonly isPeerTrusted?: boolean;
  /** Headers to add, names and values in turn; they replace those of the client. */
  readonly added?: readonly string[];
  /** The value to forward of a header of the request; undefined: none. Names are in lower case. */
  readonly requestHeader?: (name: string, value: string) => string | undefined;
  /** The value to send on of a header of the answer; undefined: none. */
  readonly responseHeader?: (name: string, value: string) => string | undefined;
  /** The subprotocol of a WebSocket that is answered where the server chooses none. */
  readonly subprotocol?: string | undefined;
  /** Milliseconds to the first byte of the answer, once the request is sent; 120,000. */
  readonly answerMs?: number;
  /** Milliseconds of silence in both directions after which an exchange ends; 3,600,000. */
  readonly silenceMs?: number;
  /** Ends the exchange. */
  readonly signal?: AbortSignal;
  /** The upstream is not ours: it is not told of the client (`X-Forwarded-*`), and its cookies keep their domain. */
  readonly isOutbound?: boolean;
  /** What reads the answer on its way and may hold it for a moment: what it sends goes on to the client. */
  readonly gate?: (send: (chunk: Buffer) => void) => AnswerGate;
  /** Told of bytes of bodies, in both directions; an error that it throws ends the exchange. */
  readonly onBytes?: (out: number, back: number) => void;
}

/** Reads an answer on its way. An error that it throws ends the exchange, before the answer has begun or in its midst. */
export interface AnswerGate {
  /** Whether the head may go on before the body; else it goes with the first that is sent. */
  head(head: AnswerHead): boolean;
  body(chunk: Buffer): void;
  /** Sends what is left. */
  end(trailers: readonly string[]): void;
  /** The exchange is over; harmless twice. */
  stop(): void;
}

/** Set by the proxy that stands nearest to the server. */
const FORWARDED = new Set(['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'forwarded']);
/** What proxies say of a client: of others, a server could take it for the word of one. */
const SAID_BY_PROXIES = /^(?:x-forwarded-.*|x-real-ip)$/;

/**
 * Why a request is not forwarded; undefined where it can be. Node's parser refuses most of it already: this holds also where
 * that is configured otherwise.
 */
export function requestFault({
  method,
  url = '',
  httpVersion,
  rawHeaders,
}: IncomingMessage): string | undefined {
  const lengths = valuesOf(rawHeaders, 'content-length');
  const codings = valuesOf(rawHeaders, 'transfer-encoding');
  if (lengths.length > 1) return 'The request has more than one Content-Length';
  if (lengths[0] !== undefined && !/^\d{1,15}$/.test(lengths[0])) return 'The Content-Length is not valid';
  if (lengths.length > 0 && codings.length > 0)
    return 'The request has both Content-Length and Transfer-Encoding';
  if (codings.length > 1 || (codings[0] !== undefined && codings[0].toLowerCase() !== 'chunked'))
    return 'The request has a Transfer-Encoding other than chunked';
  // RFC 9112, section 6.1: its framing is faulty.
  if (codings.length > 0 && httpVersion === '1.0') return 'The request has a Transfer-Encoding in HTTP/1.0';
  if (valuesOf(rawHeaders, 'host').length !== 1) return 'The request has not exactly one Host';
  if (!/^(?:\/[\x21-\x7e\x80-\xff]*|\*)$/.test(url)) return 'The target of the request is not a path';
  if (url === '*' && method !== 'OPTIONS') return 'Only OPTIONS may ask for *';
  return undefined;
}

/** How the body of a request is framed: its length, or chunks. */
export function requestBody({ rawHeaders }: IncomingMessage): number | 'chunked' {
  if (valuesOf(rawHeaders, 'transfer-encoding').length > 0) return 'chunked';
  return Number(valuesOf(rawHeaders, 'content-length')[0] ?? 0);
}

/** What to send to the upstream, of a request without {@link requestFault}. With `upgrade`, it asks for that protocol. */
export function requestOptions(
  request: IncomingMessage,
  rules: ForwardRules,
  upgrade?: string,
): RequestOptions {
  const { method = 'GET', url = '/', rawHeaders } = request;
  const { added = [], requestHeader = (_name, value) => value } = rules;
  const own = added.filter((_text, at) => at % 2 === 0).map(name => name.toLowerCase());
  const ends = endsHere(rawHeaders);
  const isForged = (name: string) => !rules.isPeerTrusted && SAID_BY_PROXIES.test(name);
  const takesTrailers = membersOf(rawHeaders, 'te').includes('trailers');
  const headers = ['Host', rules.host ?? request.headers.host ?? ''];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const written = rawHeaders[at] ?? '';
    const name = written.toLowerCase();
    if (name === 'host' || own.includes(name) || FORWARDED.has(name) || ends(name) || isForged(name))
      continue;
    const value = requestHeader(name, rawHeaders[at + 1] ?? '');
    if (value !== undefined && isFieldValue(value)) headers.push(written, value);
  }
  headers.push(...added);
  if (!rules.isOutbound) headers.push(...forwardedHeaders(request, rules));
  if (takesTrailers) headers.push('TE', 'trailers');
  if (valuesOf(rawHeaders, 'transfer-encoding').length > 0) headers.push('Transfer-Encoding', 'chunked');
  if (upgrade) headers.push('Connection', 'Upgrade', 'Upgrade', upgrade);
  else headers.push('Connection', takesTrailers ? 'keep-alive, TE' : 'keep-alive');
  return { method, path: url, headers };
}

function forwardedHeaders(
  { headers, socket }: IncomingMessage,
  { scheme, isPeerTrusted }: ForwardRules,
): string[] {
  const peer = socket.remoteAddress ?? 'unknown';
  const trusted = (name: string) => {
    const value = isPeerTrusted ? headers[name] : undefined;
    return typeof value === 'string' && isFieldValue(value) ? value : undefined;
  };
  const before = trusted('x-forwarded-for');
  return [
    'X-Forwarded-For',
    before ? `${before}, ${peer}` : peer,
    'X-Forwarded-Proto',
    trusted('x-forwarded-proto') ?? scheme,
    'X-Forwarded-Host',
    trusted('x-forwarded-host') ?? headers.host ?? '',
  ];
}
