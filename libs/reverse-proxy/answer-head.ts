import type { AnswerHead } from './answer-parser.js';
import { endsHere, isAllowedInTrailers } from './fields.js';
import type { ForwardRules } from './request-head.js';

/** Headers that steer a proxy in front of us, or where clients look for the site: none that a server behind us may say. */
const REFUSED = /^(?:x-accel-.*|x-sendfile.*|x-lighttpd-send-file|alt-svc)$/;
const COOKIE_DOMAIN = /;[\t ]*domain[\t ]*(?:=[^;]*)?(?=;|$)/gi;

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
export function answerTrailers(trailers: readonly string[]): [string, string][] {
  const sent: [string, string][] = [];
  for (let at = 0; at < trailers.length; at += 2) {
    const [name = '', value = ''] = trailers.slice(at, at + 2);
    if (isAllowedInTrailers(name.toLowerCase())) sent.push([name, value]);
  }
  return sent;
}
