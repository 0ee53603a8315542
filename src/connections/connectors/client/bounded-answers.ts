import { setImmediate } from 'node:timers/promises';
import { marked } from '#libs/exact-json/index.js';
import { JsonSize, TooComplex } from './json-size.js';

/** Of one answer. Ten minutes of progress, eight times a second, fit. */
const MAX_EVENTS = 5_000;
const MAX_LINES = 50_000;
/** Of the server, in one answer: each is answered with a request of ours. A ping every few seconds, for ten minutes, fits. */
const MAX_REQUESTS = 300;
/** After so many, others have their turn. */
const EVENTS_AT_ONCE = 50;
const LINES_AT_ONCE = 1_000;

/** How the body of an answer ended: with an error, or before all of it was there. */
export interface AnswerWatch {
  /** Stands before each number that the protocol's client would round. */
  readonly mark: string;
  failed(error: unknown): void;
  /** An event stream ended that nothing can take up again. */
  ended(): void;
}

const typeOf = (response: Response): string =>
  (response.headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';

/** The same answer, of which nothing is parsed that would keep the event loop. */
export async function bounded(response: Response, watch: AnswerWatch): Promise<Response> {
  const type = typeOf(response);
  if (!response.body) return response;
  if (type === 'application/json') {
    const text = await response.text();
    new JsonSize().add(text);
    return rebuilt(response, marked(text, watch.mark));
  }
  if (type !== 'text/event-stream') return response;
  return rebuilt(response, checkedLines(response.body, watch));
}

function rebuilt(
  { status, statusText, headers }: Response,
  body: string | ReadableStream<Uint8Array>,
): Response {
  return new Response(body, { status, statusText, headers });
}

/**
 * Whole lines of an event stream, each looked at before it is passed on, and few events at once. How the stream ends the protocol's
 * client only logs.
 */
function checkedLines(body: ReadableStream<Uint8Array>, watch: AnswerWatch): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const lines = new EventLines(watch.mark);
  let isOver = false;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          for (let batch = lines.next(); ; batch = lines.next()) {
            if (batch) {
              await setImmediate();
              return controller.enqueue(batch);
            }
            if (isOver) break;
            const { done, value = NOTHING } = await reader.read();
            isOver = done;
            lines.add(value, done);
          }
          if (!lines.isResumable) watch.ended();
          controller.close();
        } catch (error) {
          watch.failed(error);
          controller.error(error);
          await reader.cancel(error).catch(() => undefined);
        }
      },
      cancel: reason => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

const [LF, CR] = [10, 13];
const NOTHING = new Uint8Array(0);

/** The lines of an event stream. Throws TooComplex for an event that must not be parsed, and for too many. */
class EventLines {
  /** An event had an id: the client asks for what comes after it. */
  isResumable = false;
  private readonly size = new JsonSize();
  private begun: Uint8Array[] = [];
  private whole: Uint8Array = NOTHING;
  private lines = 0;
  private events = 0;
  private requests = 0;
  private data: string[] = [];

  constructor(private readonly mark: string) {}

  /** What comes after the last line is kept for the next piece. */
  add(piece: Uint8Array, isLast: boolean): void {
    // A carriage return ends a line, and the line feed behind it may come with the next piece.
    const end = isLast ? piece.length : Math.max(piece.lastIndexOf(LF), piece.lastIndexOf(CR, -2)) + 1;
    if (end > 0 || isLast) {
      this.whole = Buffer.concat([...this.begun, piece.subarray(0, end)]);
      this.begun = [];
    }
    if (end < piece.length) this.begun.push(piece.subarray(end));
  }

  /** The next lines, once they were looked at: those of a few events. */
  next(): Uint8Array | undefined {
    const { whole } = this;
    if (whole.length === 0) return undefined;
    const most = Math.min(this.events + EVENTS_AT_ONCE, MAX_EVENTS + 1);
    const lines = this.lines + LINES_AT_ONCE;
    const passed: string[] = [];
    let from = 0;
    while (from < whole.length && this.events < most && this.lines < lines) {
      const end = endOfLine(whole, from);
      const line = Buffer.from(whole.buffer, whole.byteOffset + from, end - from).toString('utf8');
      this.check(line);
      passed.push(withMarks(line, this.mark));
      from = end;
    }
    this.whole = whole.subarray(from);
    return Buffer.from(passed.join(''));
  }

  private check(line: string): void {
    if (++this.lines > MAX_LINES) throw new TooComplex(`The answer has more than ${MAX_LINES} lines`);
    if (line.trim() === '') {
      this.size.reset();
      if (++this.events > MAX_EVENTS) throw new TooComplex(`The answer has more than ${MAX_EVENTS} events`);
      this.requests += requestsIn(this.data.join('\n'));
      if (this.requests > MAX_REQUESTS)
        throw new TooComplex(`The answer has more than ${MAX_REQUESTS} requests of the server`);
      this.data = [];
    } else if (line.startsWith('data')) {
      this.size.add(line);
      this.data.push(line.replace(/^data:?/, '').trimEnd());
    }
    if (line.startsWith('id')) this.isResumable = true;
  }
}

/** How many requests the data of an event has: messages with a method and an id. */
function requestsIn(data: string): number {
  if (data === '') return 0;
  try {
    const messages: unknown[] = [JSON.parse(data)].flat();
    return messages.filter(
      each => typeof each === 'object' && each !== null && 'id' in each && 'method' in each,
    ).length;
  } catch {
    return 0;
  }
}

/** A line of data that is JSON by itself, as those of the protocol are, with marked numbers. */
function withMarks(line: string, mark: string): string {
  const [, name = '', text = '', end = ''] = /^(data: ?)([^\r\n]*)(\r?\n?)$/.exec(line) ?? [];
  return name === '' ? line : `${name}${marked(text, mark)}${end}`;
}

/** The place after the line that begins at `from`: it ends with LF, CR LF or CR. */
function endOfLine(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== LF && bytes[at] !== CR) at++;
  return bytes[at] === CR && bytes[at + 1] === LF ? at + 2 : Math.min(at + 1, bytes.length);
}
