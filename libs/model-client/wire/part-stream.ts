import type { Readable } from 'node:stream';
import { JSONParseError, type LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { createParser } from 'eventsource-parser';
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

/** Reads an answer of server-sent events. Whoever cancels the stream, closes the connection. */
export function streamParts(
  body: Readable,
  open: (emit: Emit) => EventReader,
  heard: (() => void) | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  let closed = false;
  return new ReadableStream(
    {
      start(controller) {
        const reader = open(part => controller.enqueue(part));
        const text = new TextDecoder();
        let ended = false;
        const end = () => {
          if (!ended) reader.end();
          ended = true;
        };
        const events = createParser({
          onEvent: ({ data }) => {
            if (ended) return;
            // OpenAI's word for the end; what comes of the connection afterwards spoils nothing.
            if (data === '[DONE]') end();
            else reader.read(parse(data));
          },
        });
        const close = () => {
          closed = true;
          controller.close();
        };
        // As a part, so that what came before is still read.
        const fail = (error: unknown) => {
          if (closed) return;
          if (!ended) controller.enqueue({ type: 'error', error });
          close();
          body.destroy();
        };
        const attempt = (work: () => void) => {
          try {
            if (!closed) work();
          } catch (error) {
            fail(error);
          }
        };
        body.on('data', (chunk: Uint8Array) => {
          heard?.();
          attempt(() => events.feed(text.decode(chunk, { stream: true })));
          if ((controller.desiredSize ?? 1) <= 0) body.pause();
        });
        body.on('end', () =>
          attempt(() => {
            end();
            close();
          }),
        );
        body.on('error', error => fail(connectionError(error)));
      },
      pull() {
        body.resume();
      },
      cancel() {
        closed = true;
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
