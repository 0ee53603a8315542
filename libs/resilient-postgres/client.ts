import type { Socket } from 'node:net';
import pg from 'pg';
import { MessageReader } from './message-reader.js';
import { PreparedQuery } from './prepared-query.js';

const TIMED_OUT = 'Query read timeout';

/** What `pg` has and its types lack. */
interface Wire {
  readonly stream: Socket;
  attachListeners(stream: Socket): void;
  emit(event: string, message: object): void;
}

/**
 * A connection whose loss does not end the process. It always has an error listener, also after `removeAllListeners`. A
 * malformed stream counts as a lost connection, and so does a query that timed out: the next one would wait behind it.
 */
export class ResilientClient extends pg.Client {
  constructor(settings?: pg.ClientConfig) {
    super(settings);
    this.expectLoss();
    const { wire } = this;
    wire.attachListeners = stream => {
      const reader = new MessageReader(
        () => this.activeQueryNow,
        (event, message) => wire.emit(event, message),
      );
      stream.on('data', data => {
        try {
          reader.take(data);
        } catch (error) {
          stream.destroy(
            new Error('Connection terminated: the server sent what is no answer', { cause: error }),
          );
        }
      });
    };
    const ask = this.query.bind(this) as (...question: unknown[]) => unknown;
    const endAfter = (error: Error) => this.endAfter(error);
    Object.assign(this, {
      query: (...question: unknown[]) => {
        const [first] = question;
        if (first instanceof PreparedQuery) first.onError = endAfter;
        const answer = ask(...question);
        if (answer instanceof Promise) answer.catch(endAfter);
        return answer;
      },
    });
  }

  override removeAllListeners(event?: string | symbol): this {
    super.removeAllListeners(event);
    this.expectLoss();
    return this;
  }

  private get wire(): Wire {
    return (this as unknown as { connection: Wire }).connection;
  }

  private get activeQueryNow(): unknown {
    return (this as unknown as { _activeQuery: unknown })._activeQuery;
  }

  private endAfter({ message }: Error): void {
    if (message === TIMED_OUT) this.wire.stream.destroy();
  }

  private expectLoss(): void {
    this.on('error', () => undefined);
  }
}

/** What all connections have in common: none waits for ever for a server that has gone silent. */
export const CONNECTION_SETTINGS = {
  connectionTimeoutMillis: 8_000,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
} as const;
