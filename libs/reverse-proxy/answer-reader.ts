import type { Duplex } from 'node:stream';
import type { AnswerParser } from './answer-parser.js';
import { ProxyError } from './proxy-error.js';

/** Gives a parser what comes from the upstream. Whatever ends that too early, and silence, is a fault. */
export class AnswerReader {
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly parser: AnswerParser,
    private readonly onFault: (fault: unknown) => void,
  ) {}

  start(socket: Duplex): void {
    for (const [event, listener] of this.listeners) socket.on(event, listener);
  }

  /** The connection is somebody else's from now on, errors included. */
  release(socket: Duplex): void {
    for (const [event, listener] of this.listeners) socket.off(event, listener);
  }

  /** A fault unless something comes within `ms`, again after each piece, until {@link stopWaiting}. */
  expect(ms: number, message: string): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.onFault(new ProxyError('timeout', message)), ms).unref();
  }

  /** Something came by another way. */
  readonly heard = (): void => {
    this.timer?.refresh();
  };

  stopWaiting(): void {
    clearTimeout(this.timer);
  }

  private readonly onData = (bytes: Buffer): void => {
    this.heard();
    this.tryTo(() => this.parser.write(bytes));
  };

  private readonly onEnd = (): void => {
    this.tryTo(() => this.parser.close());
  };

  private readonly onClose = (): void => {
    this.onFault(new ProxyError('closed', 'The server closed the connection'));
  };

  private readonly onError = (error: Error): void => {
    this.onFault(new ProxyError('closed', 'The connection to the server broke', { cause: error }));
  };

  private readonly listeners = [
    ['data', this.onData],
    ['end', this.onEnd],
    ['close', this.onClose],
    ['error', this.onError],
  ] as const;

  private tryTo(parse: () => void): void {
    try {
      parse();
    } catch (error) {
      this.onFault(error);
    }
  }
}
