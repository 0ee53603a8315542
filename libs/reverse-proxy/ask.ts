import http, { type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import type { Duplex } from 'node:stream';
import { type AnswerHead, headOf, MAX_FIELDS } from './answer-head.js';
import type { RawHeaders } from './fields.js';
import { ProxyError } from './proxy-error.js';

const MAX_HEAD_BYTES = 64 * 1024;
/** Answers before the final one. */
const MAX_INTERIM = 8;

/** What comes of a request. An error that one of these throws ends the request, and goes to `failed`. */
export interface AnswerEvents {
  /** An answer before the final one (1xx), except 101. */
  interim?(status: number, headers: RawHeaders): void;
  /** The final answer, of which the body follows in `answer`. */
  begun(head: AnswerHead, answer: IncomingMessage): void;
  /** The server switched protocols; `rest` came behind its answer. Without this, a switch is an error. */
  switched?(head: AnswerHead, socket: Duplex, rest: Buffer): void;
  /** May come several times, and after the answer is complete. */
  failed(error: unknown): void;
}

/** Begins a request by Node's own client, whose parser is set to be strict. */
export function ask(options: RequestOptions, events: AnswerEvents): ClientRequest {
  const request = http.request({
    ...options,
    setDefaultHeaders: false,
    httpValidation: 'strict',
    maxHeaderSize: MAX_HEAD_BYTES,
  });
  // Node leaves out what is more: one more tells that there is more.
  request.maxHeadersCount = MAX_FIELDS + 1;
  /** What else was in the bytes that the parser has is nobody's after the end. */
  const guarded =
    <Given extends unknown[]>(handle: (...given: Given) => void) =>
    (...given: Given) => {
      if (request.destroyed) return;
      try {
        handle(...given);
      } catch (error) {
        request.destroy();
        events.failed(error);
      }
    };
  let interim = 0;
  const pass = ({ statusCode, rawHeaders }: http.InformationEvent) => {
    if (++interim > MAX_INTERIM)
      throw new ProxyError(
        'invalid',
        `The server sent more than ${MAX_INTERIM} answers before the final one`,
      );
    events.interim?.(statusCode, rawHeaders);
  };
  const begin = (answer: IncomingMessage) => {
    const head = headOf(answer, request.method);
    if (head.status === 101) throw unasked();
    events.begun(head, answer);
  };
  const switchTo = (answer: IncomingMessage, socket: Duplex, rest: Buffer) => {
    if (!events.switched) throw unasked();
    events.switched(headOf(answer, request.method), socket, rest);
  };
  return request
    .on('information', guarded(pass))
    .on('response', guarded(begin))
    .on('upgrade', guarded(switchTo))
    .on('error', error => events.failed(toProxyError(error)));
}

/** Of the errors of Node's client, those that are the server's doing. */
export function toProxyError(error: unknown): unknown {
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (code.startsWith('HPE_'))
    return new ProxyError('invalid', `The answer is not valid HTTP: ${message}`, { cause: error });
  if (code === 'ECONNRESET')
    return new ProxyError('closed', 'The answer ended before it was complete', { cause: error });
  return error;
}

const unasked = () => new ProxyError('invalid', 'The server switched to a protocol that nobody asked for');
