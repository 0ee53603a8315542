import { types } from 'node:util';
import {
  APICallError,
  EmptyResponseBodyError,
  InvalidResponseDataError,
  JSONParseError,
} from '@ai-sdk/provider';

/** What can be learned from something a provider threw or put into its stream. */
export interface Failure {
  status?: number;
  headers?: Record<string, string>;
  /** A wait that the body asks for; Google sends no header. */
  retryAfterMs?: number;
  /** Machine-readable types and codes, joined. */
  codes: string;
  /** The provider's own sentence. */
  said: string;
  /** `lost`: try again. `refused`: a certificate or address that will not get better. */
  connection?: 'lost' | 'refused';
  /** Kept only for failures that are none of the provider's, since its own errors hold the whole prompt. */
  cause?: unknown;
}

export function readFailure(thrown: unknown): Failure {
  if (APICallError.isInstance(thrown)) return readCallError(thrown);
  const unreadable = [EmptyResponseBodyError, InvalidResponseDataError, JSONParseError];
  if (unreadable.some(type => type.isInstance(thrown))) {
    return { codes: '', said: 'the answer broke off or could not be read', connection: 'lost' };
  }
  if (types.isNativeError(thrown)) {
    const connection = readConnection(thrown);
    if (connection) return { codes: '', said: rootMessage(thrown), connection };
    return { codes: thrown.name, said: thrown.message, cause: thrown };
  }
  return readErrorPart(thrown);
}

function readCallError(error: APICallError): Failure {
  const { statusCode: status, responseHeaders: headers } = error;
  if (status === undefined || status < 300) {
    return { codes: '', said: rootMessage(error), connection: readConnection(error) ?? 'lost' };
  }
  const body = readBody(error.responseBody);
  return { ...body, status, headers, said: body.said || error.message };
}

/** Error parts: the SDK's normalised objects, and the raw `error` of OpenAI-compatible servers. */
function readErrorPart(part: unknown): Failure {
  const said = describe(part);
  const { statusCode } = isRecord(part) ? part : {};
  const status = typeof statusCode === 'number' ? statusCode : statusFromWords(said.codes);
  return { status, ...said };
}

/** A failure inside a stream that was already accepted is the server's unless it says otherwise. */
function statusFromWords(codes: string): number {
  const numeric = /(?:^| )([45]\d\d)(?: |$)/.exec(codes)?.[1];
  if (numeric) return Number(numeric);
  if (/rate_limit|too_many|exhausted/i.test(codes)) return 429;
  if (/overload|unavailable/i.test(codes)) return 529;
  if (/authentication/i.test(codes)) return 401;
  if (/permission/i.test(codes)) return 403;
  if (/not_found/i.test(codes)) return 404;
  if (/invalid|bad_request|context_length/i.test(codes)) return 400;
  return 500;
}

function readBody(body: string | undefined): Described {
  try {
    return describe(JSON.parse(body ?? ''));
  } catch {
    // Not JSON: a proxy's HTML page says nothing useful, a line of plain text does.
    const text = body?.trim() ?? '';
    return { codes: '', said: text.startsWith('<') ? '' : text };
  }
}

type Described = Pick<Failure, 'codes' | 'said' | 'retryAfterMs'>;

/** Finds message and codes in `{error: {…}}`, `{error: "…"}`, `{message}`, `{detail}` and bare objects. */
function describe(value: unknown): Described {
  if (typeof value === 'string') return { codes: '', said: value };
  const first: unknown = Array.isArray(value) ? value[0] : value;
  const outer = isRecord(first) ? first : {};
  if (typeof outer.error === 'string') return { codes: '', said: outer.error };
  const error: Record<string, unknown> = isRecord(outer.error) ? outer.error : outer;
  const details = Array.isArray(error.details) ? error.details.filter(isRecord) : [];
  // Google names the true reason (`API_KEY_INVALID`) in the details.
  const codes = [error.type, error.code, error.status, ...details.map(detail => detail.reason)];
  const said = [error.message, error.detail].find(text => typeof text === 'string');
  return {
    codes: codes.filter(code => code != null).join(' '),
    said: said ?? '',
    retryAfterMs: details.map(detail => readDuration(detail.retryDelay)).find(ms => ms !== undefined),
  };
}

/** A protobuf duration in JSON: `"34.5s"`. */
function readDuration(value: unknown): number | undefined {
  const seconds = typeof value === 'string' ? /^(\d+(?:\.\d+)?)s$/.exec(value)?.[1] : undefined;
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

const LOST =
  /^(ECONN|ETIMEDOUT$|EPIPE$|EAI_AGAIN$|ENOTFOUND$|EHOSTUNREACH$|ENETUNREACH$|UND_ERR_(SOCKET|CONNECT|HEADERS_TIMEOUT|BODY_TIMEOUT))/;
const UNTRUSTED = /CERT|^ERR_TLS|^ERR_SSL|SELF_SIGNED|^ERR_INVALID_URL$|UNABLE_TO_VERIFY/;

function readConnection(error: Error): 'lost' | 'refused' | undefined {
  for (const link of causes(error)) {
    const code = 'code' in link && typeof link.code === 'string' ? link.code : '';
    if (UNTRUSTED.test(code)) return 'refused';
    if (LOST.test(code) || (link.name === 'TypeError' && link.message === 'terminated')) return 'lost';
  }
  return undefined;
}

function rootMessage(error: Error): string {
  return causes(error).at(-1)?.message || error.message;
}

function causes(error: Error): Error[] {
  const chain = [error];
  for (let next = error.cause; types.isNativeError(next) && !chain.includes(next); next = next.cause) {
    chain.push(next);
  }
  return chain;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
