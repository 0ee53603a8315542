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
  return rebuilt(response, watched(response.body.pipeThrough(checkedLines(watch)), watch));
}

function rebuilt(
  { status, statusText, headers }: Response,
  body: string | ReadableStream<Uint8Array>,
): Response {
  return new Response(body, { status, statusText, headers });
}

/** Passes on whole lines of an event stream, each looked at first. */
function checkedLines(watch: AnswerWatch): TransformStream<Uint8Array, Uint8Array> {
  const size = new JsonSize();
  let begun: Uint8Array[] = [];
  /** An event had an id: the client asks for what comes after it. */
  let isResumable = false;
  const check = (line: Uint8Array) => {
    const text = Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString('utf8');
    if (text.trim() === '') size.reset();
    else if (text.startsWith('data')) size.add(text);
    else if (text.startsWith('id')) isResumable = true;
  };
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      let from = 0;
      for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, from)) {
        begun.push(chunk.subarray(from, end + 1));
        const line = begun.length === 1 ? (begun[0] as Uint8Array) : Buffer.concat(begun);
        begun = [];
        from = end + 1;
        check(line);
        controller.enqueue(line);
      }
      if (from < chunk.length) begun.push(chunk.subarray(from));
    },
    flush(controller) {
      if (begun.length > 0) controller.enqueue(Buffer.concat(begun));
      if (!isResumable) watch.ended();
    },
  });
}

const LF = 10;

/** Tells of an error of the stream, which the protocol's client only logs. */
function watched(body: ReadableStream<Uint8Array>, watch: AnswerWatch): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        watch.failed(error);
        controller.error(error);
      }
    },
    cancel: reason => reader.cancel(reason),
  });
}
