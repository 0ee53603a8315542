import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo, type Socket } from 'node:net';
import {
  type ForwardRules,
  ProxyError,
  proxyRequest,
  proxyUpgrade,
  UpgradeClient,
  Upstream,
} from './index.js';

/** A proxy on loopback before a server that a test writes by hand, byte by byte. */
export class ProxyBench {
  readonly failures: ProxyError[] = [];
  readonly connections: Socket[] = [];
  readonly upstream: Upstream;
  private readonly servers: net.Server[] = [];
  private readonly sockets = new Set<Socket>();
  private serve: (socket: Socket) => void = () => {};
  private front!: http.Server;
  private backPort = 0;
  rules: ForwardRules = { scheme: 'http' };

  constructor() {
    this.upstream = new Upstream(() => this.connect());
  }

  static async start(): Promise<ProxyBench> {
    const bench = new ProxyBench();
    const back = net.createServer({ allowHalfOpen: true }, socket => {
      bench.connections.push(socket);
      bench.keep(socket);
      bench.serve(socket);
      socket.once('end', () => setImmediate(() => socket.end()));
    });
    bench.backPort = await bench.listen(back);
    const fail = (error: unknown) => {
      if (!(error instanceof ProxyError)) throw error;
      bench.failures.push(error);
      return error;
    };
    bench.front = http.createServer({ requireHostHeader: false });
    const serve: http.RequestListener = (request, response) => {
      proxyRequest(request, response, bench.upstream, bench.rules).catch((error: unknown) => {
        const { status, message } = fail(error);
        if (!response.headersSent && !response.destroyed) response.writeHead(status).end(message);
      });
    };
    bench.front.on('request', serve).on('checkContinue', serve);
    bench.front.on('upgrade', (request, socket, head) => {
      const client = new UpgradeClient(request, socket, head);
      proxyUpgrade(client, bench.upstream, bench.rules).catch((error: unknown) => {
        const { status } = fail(error);
        if (!socket.destroyed) client.end(`HTTP/1.1 ${status} No\r\nConnection: close\r\n\r\n`);
      });
    });
    await bench.listen(bench.front);
    return bench;
  }

  get port(): number {
    return (this.front.address() as AddressInfo).port;
  }

  /** A connection to the server. */
  async connect(): Promise<Socket> {
    const socket = net.connect({ port: this.backPort, host: '127.0.0.1', allowHalfOpen: true });
    await once(socket, 'connect');
    return socket;
  }

  /** How the server behaves towards each connection from now on. */
  answerBy(serve: (socket: Socket) => void): void {
    this.serve = serve;
  }

  /** The server answers each request, once its head is there, with these bytes. */
  answer(...pieces: (string | Buffer)[]): void {
    this.answerBy(socket => {
      let text = '';
      socket.on('data', bytes => {
        text += bytes.toString('latin1');
        if (!text.includes('\r\n\r\n')) return;
        text = '';
        for (const piece of pieces) socket.write(piece, 'latin1');
      });
    });
  }

  /** What the server was sent on its latest connection; resolves when `until` matches. */
  async received(until: RegExp): Promise<string> {
    let text = '';
    return new Promise(resolve => {
      this.answerBy(socket => {
        socket.on('data', bytes => {
          text += bytes.toString('latin1');
          if (!until.test(text)) return;
          socket.write('HTTP/1.1 204 No Content\r\n\r\n');
          resolve(text);
        });
      });
    });
  }

  /** A connection of a client. */
  async client(): Promise<Socket> {
    const socket = net.connect({ port: this.port, host: '127.0.0.1', allowHalfOpen: true });
    this.keep(socket);
    await once(socket, 'connect');
    return socket;
  }

  /** Sends bytes as a client and reads until the connection ends, or `until` matches. */
  async exchange(request: string, until?: RegExp): Promise<string> {
    const socket = await this.client();
    socket.write(request, 'latin1');
    let text = '';
    await new Promise<void>(resolve => {
      socket.on('data', bytes => {
        text += bytes.toString('latin1');
        if (until?.test(text)) resolve();
      });
      socket.once('end', resolve).once('close', resolve).once('error', resolve);
    });
    socket.destroy();
    return text;
  }

  get(path = '/', ...headers: string[]): Promise<string> {
    const lines = [`GET ${path} HTTP/1.1`, 'Host: app.example', 'Connection: close', ...headers];
    return this.exchange(`${lines.join('\r\n')}\r\n\r\n`);
  }

  async stop(): Promise<void> {
    this.upstream.close();
    this.front.closeAllConnections();
    for (const socket of this.sockets) socket.destroy();
    await Promise.all(this.servers.map(server => new Promise(resolve => server.close(resolve))));
  }

  private keep(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => {}).once('close', () => this.sockets.delete(socket));
  }

  private async listen(server: net.Server): Promise<number> {
    this.servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }
}
