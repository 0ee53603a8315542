import { JsonSize } from './json-size.js';

/** How the body of an answer ended: with an error, or before all of it was there. */
export interface AnswerWatch {
  failed(error: unknown): void;
  /** An event stream ended that nothing can take up again. */
  ended(): void;
}

const typeOf = (response: Response): string =>
  (response.headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';

/** The same answer, of which nothing is parsed that would keep the event loop. */
export async function bounded(response: Response, watch: AnswerWatch): Promise<Response> {
  const type = typeOf(response);
  if (type === 'application/json') {
    const text = await response.text();
    new JsonSize().add(text);
    return rebuilt(response, text);
  }
  if (type !== 'text/event-stream' || !response.body) return response;
  return rebuilt(response, checkedLines(response.body, watch));
}

function rebuilt(
  { status, statusText, headers }: Response,
  body: string | ReadableStream<Uint8Array>,
): Response {
  return new Response(body, { status, statusText, headers });
}

/** Whole lines of an event stream, each looked at before it is passed on. How the stream ends the protocol's client only logs. */
function checkedLines(body: ReadableStream<Uint8Array>, watch: AnswerWatch): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const lines = new EventLines();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          for (;;) {
            const { done, value } = await reader.read();
            const whole = done ? lines.rest() : lines.add(value);
            if (whole.length > 0) controller.enqueue(whole);
            if (!done && whole.length === 0) continue;
            if (!done) return;
            if (!lines.isResumable) watch.ended();
            return controller.close();
          }
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

const LF = 10;
const NOTHING = new Uint8Array(0);

/** The lines of an event stream. Throws TooComplex for an event that must not be parsed. */
class EventLines {
  /** An event had an id: the client asks for what comes after it. */
  isResumable = false;
  private readonly size = new JsonSize();
  private begun: Uint8Array[] = [];

  /** The lines that end with this piece, once they were looked at. */
  add(piece: Uint8Array): Uint8Array {
    const end = piece.lastIndexOf(LF) + 1;
    if (end < piece.length) {
      const whole = end === 0 ? NOTHING : this.whole(piece.subarray(0, end));
      this.begun.push(piece.subarray(end));
      return whole;
    }
    return this.whole(piece);
  }

  /** What comes after the last line; it is no event. */
  rest(): Uint8Array {
    return this.begun.length === 0 ? NOTHING : Buffer.concat(this.begun);
  }

  private whole(piece: Uint8Array): Uint8Array {
    const lines = this.begun.length === 0 ? piece : Buffer.concat([...this.begun, piece]);
    this.begun = [];
    for (let from = 0; from < lines.length; ) {
      const end = lines.indexOf(LF, from) + 1;
      this.check(Buffer.from(lines.buffer, lines.byteOffset + from, end - from).toString('utf8'));
      from = end;
    }
    return lines;
  }

  private check(line: string): void {
    if (line.trim() === '') this.size.reset();
    else if (line.startsWith('data')) this.size.add(line);
    else if (line.startsWith('id')) this.isResumable = true;
  }
}
