import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { GuardedFetch } from '#libs/guarded-fetch/index.js';

const PEM = readFileSync(new URL('../fixtures/localhost.pem', import.meta.url));

/** A web server with TLS on this machine, for documents that the service fetches. */
export class DocumentServer {
  readonly documents = new Map<string, (origin: string) => object>();
  readonly requests: string[] = [];

  private constructor(private readonly server: Server) {}

  static async start(): Promise<DocumentServer> {
    const server = createServer({ key: PEM, cert: PEM });
    const made = new DocumentServer(server);
    server.on('request', (request, response) => {
      const path = request.url ?? '';
      made.requests.push(path);
      const document = made.documents.get(path);
      if (!document) response.writeHead(302, { location: '/client.json' }).end();
      else
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify(document(made.origin)));
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    return made;
  }

  get origin(): string {
    return `https://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** A way out that reaches this server and nothing else. */
  get wayIn(): GuardedFetch {
    return new GuardedFetch({ allows: address => address === '127.0.0.1', tls: { ca: PEM } });
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise(resolve => this.server.close(resolve));
  }
}
