import type { Readable } from 'node:stream';
import { JSONParseError, type LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { createParser } from 'eventsource-parser';
import type { AnswerObserver } from '../observable-model.js';
import { connectionError } from './connection-error.js';

export type Emit = (part: LanguageModelV4StreamPart) => void;

/** Turns the events of one answer into parts. */
export interface EventReader {
  /** The JSON of one event; what it throws fails the stream. */
  read(event: unknown): void;
  /** No more events come. */
  end(): void;
}

/** Parts that wait for their reader before the connection is told to wait. */
const MAX_WAITING = 64;

/** Reads an answer of server-sent events. Returns what stops it, after which nothing of it is called any more. */
export function observeParts(
  body: Readable,
  open: (emit: Emit) => EventReader,
  observer: AnswerObserver,
): () => void {
  let isOver = false;
  let hasEnded = false;
  const text = new TextDecoder();
  const end = () => {
    if (!hasEnded) reader?.end();
    hasEnded = true;
  };
  const fail = (error: unknown) => {
    if (isOver) return;
    isOver = true;
    if (hasEnded) observer.end();
    else observer.fail(error);
    body.destroy();
  };
  const attempt = (work: () => void) => {
    try {
      if (!isOver) work();
    } catch (error) {
      fail(error);
    }
  };
  let reader: EventReader | undefined;
  attempt(() => {
    reader = open(part => {
      if (!isOver) observer.part(part);
    });
  });
  const events = createParser({
    onEvent: ({ data }) => {
      if (hasEnded || isOver) return;
      // OpenAI's word for the end; what comes of the connection afterwards spoils nothing.
      if (data === '[DONE]') end();
      else reader?.read(parse(data));
    },
  });
  body.on('data', (chunk: Uint8Array) => {
    attempt(() => {
      observer.heard();
      events.feed(text.decode(chunk, { stream: true }));
    });
  });
  body.on('end', () =>
    attempt(() => {
      end();
      isOver = true;
      observer.end();
    }),
  );
  body.on('error', error => fail(connectionError(error)));
  return () => {
    isOver = true;
  };
}

/** The same as a stream. To cancel it closes the connection. */
export function streamParts(
  body: Readable,
  open: (emit: Emit) => EventReader,
  heard: (() => void) | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  let stop: (() => void) | undefined;
  return new ReadableStream(
    {
      start(controller) {
        stop = observeParts(body, open, {
          heard: () => heard?.(),
          part: part => controller.enqueue(part),
          end: () => controller.close(),
          // As a part, so that what came before is still read.
          fail(error) {
            controller.enqueue({ type: 'error', error });
            controller.close();
          },
        });
        body.on('data', () => {
          if ((controller.desiredSize ?? 1) <= 0) body.pause();
        });
      },
      pull() {
        body.resume();
      },
      cancel() {
        stop?.();
        body.destroy();
      },
    },
    { highWaterMark: MAX_WAITING },
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new JSONParseError({ text: text.slice(0, 500), cause });
  }
}
