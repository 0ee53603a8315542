import { ChunkedBody } from './chunked-body.js';
import { membersOf, parseFields, valuesOf } from './fields.js';
import { ProxyError } from './proxy-error.js';

const MAX_HEAD_BYTES = 64 * 1024;
const MAX_FIELDS = 256;
/** Answers before the final one. */
const MAX_INTERIM = 8;
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/;
const LENGTH = /^\d{1,15}$/;

export interface AnswerHead {
  readonly status: number;
  readonly reason: string;
  readonly headers: readonly string[];
  /** Bytes of the body: a number, `chunked`, or `close` where it ends with the connection. */
  readonly body: number | 'chunked' | 'close';
  /** Whether the connection may be used again after it. */
  readonly keepAlive: boolean;
}

export interface AnswerEvents {
  /** An answer before the final one (1xx), except 101. */
  informational(head: AnswerHead): void;
  head(head: AnswerHead): void;
  /** `isLast`: nothing of the body follows; false where that is not known yet. */
  body(chunk: Buffer, isLast: boolean): void;
  /** The answer is complete; `rest` came behind it: of the new protocol after 101, else nothing that anybody asked for. */
  end(trailers: readonly string[], rest: Buffer): void;
}

/**
 * Reads one answer (RFC 9112) from the bytes of a connection, strictly: what two parsers could read in two ways is an error.
 * `write` and `close` throw ProxyError (`invalid` or `closed`); the connection is of no use then.
 */
export class AnswerParser {
  private state: 'head' | 'length' | 'chunked' | 'close' | 'done' = 'head';
  private pending: Buffer | undefined;
  private left = 0;
  private chunks: ChunkedBody | undefined;
  private begun = false;
  private interim = 0;

  constructor(
    private readonly method: string,
    private readonly events: AnswerEvents,
  ) {}

  /** Whether a byte of the answer has come. */
  get hasBegun(): boolean {
    return this.begun;
  }

  /** Whether the head of the final answer has come. */
  get hasHead(): boolean {
    return this.state !== 'head';
  }

  write(bytes: Buffer): void {
    this.begun = true;
    let rest: Buffer | undefined = bytes;
    while (rest && this.state === 'head') rest = this.readHead(rest);
    if (!rest || rest.length === 0) return;
    if (this.state === 'close') this.events.body(rest, false);
    else if (this.state === 'length') this.readLength(rest);
    else if (this.state === 'chunked') this.readChunks(rest);
  }

  /** The upstream has closed its side. */
  close(): void {
    if (this.state === 'done') return;
    if (this.state !== 'close') throw new ProxyError('closed', 'The answer ended before it was complete');
    this.finish([], EMPTY);
  }

  /** Returns what follows the head; undefined while it is not complete. */
  private readHead(bytes: Buffer): Buffer | undefined {
    const all = this.pending ? Buffer.concat([this.pending, bytes]) : bytes;
    const end = all.indexOf('\r\n\r\n', this.pending ? Math.max(0, this.pending.length - 3) : 0, 'latin1');
    if ((end < 0 ? all.length : end) > MAX_HEAD_BYTES)
      throw new ProxyError('invalid', `The head of the answer is larger than ${MAX_HEAD_BYTES} bytes`);
    if (end < 0) {
      this.pending = all;
      return undefined;
    }
    this.pending = undefined;
    const rest = all.subarray(end + 4);
    this.begin(parseHead(all.toString('latin1', 0, end), this.method), rest);
    return this.state === 'done' ? undefined : rest;
  }

  private begin(head: AnswerHead, rest: Buffer): void {
    const { status, body } = head;
    if (status < 200 && status !== 101) {
      if (++this.interim > MAX_INTERIM)
        throw new ProxyError(
          'invalid',
          `The server sent more than ${MAX_INTERIM} answers before the final one`,
        );
      this.events.informational(head);
      return;
    }
    this.events.head(head);
    if (body === 0) {
      this.finish([], rest);
      return;
    }
    if (body === 'chunked') this.chunks = new ChunkedBody();
    if (typeof body === 'number') this.left = body;
    this.state = typeof body === 'number' ? 'length' : body;
  }

  private readLength(bytes: Buffer): void {
    const own = bytes.length <= this.left ? bytes : bytes.subarray(0, this.left);
    this.left -= own.length;
    this.events.body(own, this.left === 0);
    if (this.left === 0) this.finish([], bytes.subarray(own.length));
  }

  private readChunks(bytes: Buffer): void {
    const end = this.chunks?.write(bytes, chunk => this.events.body(chunk, false));
    if (end) this.finish(end.trailers, end.rest);
  }

  private finish(trailers: readonly string[], rest: Buffer): void {
    this.state = 'done';
    this.events.end(trailers, rest);
  }
}

const EMPTY = Buffer.alloc(0);

function parseHead(text: string, method: string): AnswerHead {
  const lineEnd = text.indexOf('\r\n');
  const line = lineEnd < 0 ? text : text.slice(0, lineEnd);
  const [, minor, code, reason = ''] = STATUS_LINE.exec(line) ?? [];
  if (code === undefined)
    throw new ProxyError('invalid', 'The answer does not begin with a valid status line');
  const headers = lineEnd < 0 ? [] : parseFields(text.slice(lineEnd + 2));
  if (headers.length > MAX_FIELDS * 2)
    throw new ProxyError('invalid', `The answer has more than ${MAX_FIELDS} headers`);
  const status = Number(code);
  const isModern = minor === '1';
  const options = membersOf(headers, 'connection');
  return {
    status,
    reason,
    headers,
    body: framingOf(headers, { status, method, isModern }),
    keepAlive: isModern ? !options.includes('close') : options.includes('keep-alive'),
  };
}

/** How long the body is (RFC 9112, section 6.3), where only one reading is possible. */
function framingOf(
  headers: readonly string[],
  { status, method, isModern }: { status: number; method: string; isModern: boolean },
): AnswerHead['body'] {
  const codings = valuesOf(headers, 'transfer-encoding');
  const lengths = valuesOf(headers, 'content-length');
  if (codings.length > 0 && lengths.length > 0)
    throw new ProxyError('invalid', 'The answer has both Content-Length and Transfer-Encoding');
  if (codings.length > 1 || (codings[0] !== undefined && codings[0].toLowerCase() !== 'chunked'))
    throw new ProxyError('invalid', 'The answer has a Transfer-Encoding other than chunked');
  if (codings.length > 0 && !isModern)
    throw new ProxyError('invalid', 'The answer is HTTP/1.0 and has a Transfer-Encoding');
  if (lengths.length > 1 || (lengths[0] !== undefined && !LENGTH.test(lengths[0])))
    throw new ProxyError('invalid', 'The answer has no valid Content-Length');
  if (status < 200 || status === 204 || status === 304 || method === 'HEAD') return 0;
  if (codings.length > 0) return 'chunked';
  return lengths[0] === undefined ? 'close' : Number(lengths[0]);
}
