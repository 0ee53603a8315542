import type { Socket } from 'node:net';
import pg from 'pg';
import { boundReader } from './bounded-reader.js';
import { PreparedQuery } from './prepared-query.js';

const TIMED_OUT = 'Query read timeout';

boundReader();

/** What `pg` has and its types lack. */
interface Wire {
  readonly stream: Socket;
  attachListeners(stream: Socket): void;
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
    const attach = wire.attachListeners.bind(wire);
    wire.attachListeners = stream => {
      attach(stream);
      for (const parse of stream.listeners('data') as ((data: Buffer) => void)[]) {
        stream.off('data', parse);
        stream.on('data', data => {
          try {
            parse(data);
          } catch (error) {
            stream.destroy(
              new Error('Connection terminated: the server sent what is no answer', { cause: error }),
            );
          }
        });
      }
    };
    const ask = this.query.bind(this) as (...question: unknown[]) => unknown;
    Object.assign(this, {
      query: (...question: unknown[]) => {
        const answer =
          question[0] instanceof PreparedQuery ? Promise.resolve(ask(...question)) : ask(...question);
        if (answer instanceof Promise) answer.catch((error: Error) => this.endAfter(error));
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
