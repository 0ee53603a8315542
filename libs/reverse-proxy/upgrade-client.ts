import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** Clients wait for the answer before they send more (RFC 6455, section 4.1); some send a little. */
const MAX_EARLY_BYTES = 64 * 1024;
/** How long a client has to take the last bytes and to close. */
const PARTING_MS = 10_000;

/**
 * A client whose request Node's server has taken for an upgrade. Until it is joined to a server it is read: what it sends early
 * is kept, and when it ends, its socket is destroyed.
 */
export class UpgradeClient {
  private readonly early: Buffer[] = [];
  private earlyBytes = 0;
  private isLeaving = false;

  /** `head`: what came behind the request. */
  constructor(
    readonly request: IncomingMessage,
    readonly socket: Duplex,
    head: Buffer,
  ) {
    // The error of a socket is followed by its close.
    socket.on('error', () => socket.destroy());
    this.keep(head);
    socket.on('data', this.keep).on('end', this.gone);
  }

  /** Returns what came early. The caller reads the socket from now on, at once. */
  join(): Buffer {
    this.socket.off('data', this.keep).off('end', this.gone);
    return Buffer.concat(this.early.splice(0));
  }

  /** Sends the last bytes. What still comes is dropped, and a client that does not close is not waited for. */
  end(bytes = ''): void {
    this.isLeaving = true;
    this.early.length = 0;
    const { socket } = this;
    socket.end(bytes, 'latin1');
    const timer = setTimeout(() => socket.destroy(), PARTING_MS).unref();
    socket.once('close', () => clearTimeout(timer));
  }

  private readonly keep = (bytes: Buffer): void => {
    if (this.isLeaving || bytes.length === 0) return;
    this.earlyBytes += bytes.length;
    if (this.earlyBytes > MAX_EARLY_BYTES) this.socket.destroy();
    else this.early.push(bytes);
  };

  private readonly gone = (): void => {
    if (!this.isLeaving) this.socket.destroy();
  };
}
