import type { AnswerParser } from './answer-parser.js';
import { ProxyError } from './proxy-error.js';
import type { ConnectionUser } from './upstream.js';

/** Gives a parser what comes from the upstream. Whatever ends that too early, and silence, is a fault. */
export class AnswerReader implements ConnectionUser {
  private timer: NodeJS.Timeout | undefined;

  /** `wasRead` is called when the parser has had all that came at once. */
  constructor(
    private readonly parser: AnswerParser,
    private readonly onFault: (fault: unknown) => void,
    private readonly wasRead: () => void = () => {},
  ) {}

  /**
   * A fault unless the head of the answer comes within `ms`; once it has, unless something comes, again after each piece. Ends with
   * {@link stopWaiting}.
   */
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

  data(bytes: Buffer): void {
    // Neither interim answers nor pieces of a head renew the time for the head.
    if (this.parser.hasHead) this.heard();
    try {
      this.parser.write(bytes);
      this.wasRead();
    } catch (error) {
      this.onFault(error);
    }
  }

  end(): void {
    try {
      this.parser.close();
    } catch (error) {
      this.onFault(error);
    }
  }

  close(): void {
    this.onFault(new ProxyError('closed', 'The server closed the connection'));
  }

  error(error: Error): void {
    this.onFault(new ProxyError('closed', 'The connection to the server broke', { cause: error }));
  }
}
