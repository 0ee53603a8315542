import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ForwardRules, requestBody, requestHead } from './request-head.js';

/** Writes a request to a connection: its head, then its body, no faster than the upstream takes it. */
export class RequestSender {
  private isSent = false;
  /** Pieces of a body in chunks that came at once: many small chunks go on as one. */
  private gathered: Buffer[] = [];

  /** `sent` is called when all of it was written, `counted` for each piece of its body. */
  constructor(
    private readonly request: IncomingMessage,
    private readonly socket: Duplex,
    private readonly rules: ForwardRules,
    private readonly sent: () => void,
    private readonly counted: (data: Buffer) => void,
  ) {}

  /** All of the request was written. */
  get isDone(): boolean {
    return this.isSent;
  }

  start(): void {
    const { request, socket } = this;
    const body = requestBody(request);
    socket.write(requestHead(request, this.rules), 'latin1');
    if (body === 0) {
      this.finish();
      return;
    }
    request.on('data', body === 'chunked' ? this.chunk : this.plain);
    request.once('end', body === 'chunked' ? this.endChunks : this.finish);
    socket.on('drain', this.resume);
  }

  stop(): void {
    const { request, socket } = this;
    request.off('data', this.chunk).off('data', this.plain);
    request.off('end', this.endChunks).off('end', this.finish);
    socket.off('drain', this.resume);
    this.gathered = [];
  }

  private readonly plain = (data: Buffer): void => {
    this.counted(data);
    if (!this.socket.write(data)) this.request.pause();
  };

  private readonly chunk = (data: Buffer): void => {
    if (data.length === 0) return;
    this.counted(data);
    if (this.gathered.push(data) === 1) process.nextTick(this.sendGathered);
  };

  private readonly sendGathered = (): void => {
    const { gathered, socket } = this;
    const [first] = gathered;
    if (!first) return;
    this.gathered = [];
    const data = gathered.length === 1 ? first : Buffer.concat(gathered);
    socket.cork();
    socket.write(`${data.length.toString(16)}\r\n`, 'latin1');
    socket.write(data);
    const isTaken = socket.write('\r\n', 'latin1');
    socket.uncork();
    if (!isTaken) this.request.pause();
  };

  private readonly endChunks = (): void => {
    this.sendGathered();
    this.socket.write('0\r\n\r\n', 'latin1');
    this.finish();
  };

  private readonly finish = (): void => {
    this.isSent = true;
    this.sent();
  };

  private readonly resume = (): void => {
    this.request.resume();
  };
}
