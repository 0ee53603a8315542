import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import { freePort } from './free-port.js';

/** Passes requests on to a service, with a credential for clients that have no way to send one. */
export class BearingProxy {
  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  /** `port` of null: any. What a client says of `Host` and `Origin` is passed on as it is. */
  static async start(
    target: string,
    headers: () => Record<string, string>,
    port?: number,
  ): Promise<BearingProxy> {
    const { hostname, port: targetPort } = new URL(target);
    const server = createServer((incoming, outgoing) => {
      const { method, url: path } = incoming;
      const options = {
        hostname,
        port: targetPort,
        method,
        path,
        headers: { ...incoming.headers, ...headers() },
      };
      const onward = httpRequest(options, (answer: IncomingMessage) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on('error', () => outgoing.destroy());
      outgoing.on('close', () => onward.destroy());
      incoming.pipe(onward);
    });
    const chosen = port ?? (await freePort());
    await new Promise<void>(resolve => server.listen(chosen, '127.0.0.1', resolve));
    return new BearingProxy(server, `http://127.0.0.1:${chosen}`);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise(resolve => this.server.close(resolve));
  }
}
