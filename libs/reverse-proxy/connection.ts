import { Duplex } from 'node:stream';
import { ProxyError } from './proxy-error.js';

/** Bytes that one connection may bring before all others have their turn. */
export const TURN_BYTES = 64 * 1024;

/**
 * A connection to a server, over a socket that it reads from the beginning. After each {@link TURN_BYTES} it waits for the next
 * turn of the event loop. Whatever comes while nobody reads the answer, ends it.
 */
export class Connection extends Duplex {
  /** Whether a byte has come since it was last taken into use. */
  isHeard = false;
  private turnBytes = 0;
  private isYielding = false;
  private isWanted = true;
  private hasEnded = false;
  private idleTimer: NodeJS.Timeout | undefined;

  constructor(private readonly socket: Duplex) {
    super();
    // Node's client has no listener for errors between two requests.
    this.on('error', () => {});
    socket
      .on('data', this.receive)
      .once('end', this.receiveEnd)
      .once('close', this.receiveClose)
      .on('error', cause =>
        this.destroy(new ProxyError('closed', 'The connection to the server broke', { cause })),
      );
  }

  /** Keeps it for the next request, for so long at most. Returns false where it is of no use. */
  keep(ms: number): boolean {
    if (this.destroyed || this.hasEnded) return false;
    this.idleTimer = setTimeout(() => this.destroy(), ms).unref();
    return true;
  }

  takeIntoUse(): void {
    clearTimeout(this.idleTimer);
    this.isHeard = false;
  }

  /** As that of `net.Socket`, which agents call; servers that listen keep the process alive. */
  ref(): this {
    return this;
  }

  override _read(): void {
    this.isWanted = true;
    if (!this.isYielding) this.socket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, callback: (error?: Error | null) => void): void {
    this.socket.write(chunk, callback);
  }

  override _writev(chunks: { chunk: Buffer }[], callback: (error?: Error | null) => void): void {
    this.socket.write(Buffer.concat(chunks.map(({ chunk }) => chunk)), callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    if (this.socket.destroyed) callback();
    else this.socket.end(callback);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    clearTimeout(this.idleTimer);
    this.socket.destroy();
    callback(error);
  }

  /** An answer was read to its end, and no other was asked for. */
  private get isStray(): boolean {
    return this.isHeard && this.listenerCount('data') === 0;
  }

  private readonly receive = (bytes: Buffer): void => {
    if (this.isStray) {
      this.destroy();
      return;
    }
    this.isHeard = true;
    this.isWanted = this.push(bytes);
    this.turnBytes += bytes.length;
    if (this.turnBytes >= TURN_BYTES && !this.isYielding) {
      this.isYielding = true;
      setImmediate(this.resumeReading);
    }
    if (this.isYielding || !this.isWanted) this.socket.pause();
  };

  private readonly resumeReading = (): void => {
    this.turnBytes = 0;
    this.isYielding = false;
    if (this.isWanted) this.socket.resume();
  };

  private readonly receiveEnd = (): void => {
    this.hasEnded = true;
    if (this.isStray) this.destroy();
    else this.push(null);
  };

  private readonly receiveClose = (): void => {
    // What came before its end may still be read.
    if (this.hasEnded) this.end();
    else this.destroy(new ProxyError('closed', 'The server closed the connection'));
  };
}
