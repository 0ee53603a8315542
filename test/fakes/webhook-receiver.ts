import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A request as it came. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly raw: Buffer;
}

type Answer = (response: ServerResponse, received: Received) => void;

/** A server that takes what is sent to it, and answers each path as it is told. */
export class WebhookReceiver {
  readonly received: Received[] = [];
  private readonly arrivals = new EventEmitter();
  private readonly answers = new Map<string, Answer>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<WebhookReceiver> {
    const server = createServer();
    const receiver = new WebhookReceiver(server);
    server.on('request', async (request, response) => {
      // A client, which a test may have killed, may be gone before it has sent everything.
      const raw = await buffer(request).catch(() => undefined);
      if (!raw) return;
      const received = { path: request.url ?? '', headers: request.headers, body: raw.toString(), raw };
      receiver.received.push(received);
      const answer = receiver.answers.get(received.path);
      if (answer) answer(response, received);
      else response.end();
      receiver.arrivals.emit('arrival');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return receiver;
  }

  get host(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  url(path: string): string {
    return `http://${this.host}${path}`;
  }

  answer(path: string, answer: Answer | number): void {
    this.answers.set(
      path,
      typeof answer === 'number' ? response => response.writeHead(answer).end() : answer,
    );
  }

  /** The first `count` requests of a path, once they are there. */
  async at(path: string, count = 1): Promise<Received[]> {
    for (;;) {
      const found = this.received.filter(received => received.path === path);
      if (found.length >= count) return found;
      await once(this.arrivals, 'arrival');
    }
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}
