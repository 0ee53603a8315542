import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** What reads an answer on its way; an error that it throws ends the exchange. */
export interface AnswerGate {
  /** Whether the head may go on before the body. */
  head(head: {
    readonly status: number;
    readonly reason: string;
    readonly headers: readonly string[];
    readonly body: number | 'chunked' | 'close';
  }): boolean;
  body(chunk: Buffer): void;
  end(trailers: readonly string[]): void;
  stop(): void;
}

/** One request of a client, which may get a credential on its way. */
export interface ForwardedExchange {
  /** Its target is in origin form. */
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly host: string;
  readonly port: number;
  readonly scheme: 'http' | 'https';
  /** The `Host` that the server sees. */
  readonly authority?: string;
  /** Opens a connection to an address that was checked; with https, of a server whose certificate was verified. */
  readonly connect: (signal: AbortSignal) => Promise<Duplex>;
  /** Headers to add, names and values in turn. */
  readonly added: readonly string[];
  /** Whether a header of the client, by its name in lower case, goes on. */
  readonly keeps: (name: string) => boolean;
  readonly gate?: (send: (chunk: Buffer) => void) => AnswerGate;
  /** Told of bytes of bodies, in both directions. */
  readonly onBytes: (out: number, back: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Sends requests on and answers back, over connections that it may use again for the same host. The lib has none of its own:
 * bring a strict one.
 */
export interface ExchangeForwarder {
  /** Rejects, after the answer has begun with the client's connection destroyed. */
  exchange(exchange: ForwardedExchange): Promise<void>;
  /** Ends idle connections to a host, or to all. */
  forget(host?: string): void;
}
