import { type IncomingMessage, request as send } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Client, Json } from './client.js';
import type { TestService } from './service.js';

let serial = 0;

interface Asking {
  method?: string;
  headers?: Json;
  body?: string | Buffer;
  /** The address of this machine that it comes from. */
  from?: string;
}

/** Servers of one workspace, and requests for them from outside. */
export class TestServers {
  constructor(
    private readonly service: TestService,
    private readonly client: Client,
    readonly workspace: string,
  ) {}

  async write(path: string, content: string): Promise<void> {
    const { status } = await this.client.put(`/api/workspaces/${this.workspace}/files/content`, {
      path,
      content,
    });
    if (status !== 200) throw new Error(`${path} was not written: ${status}`);
  }

  /** One that answers, open to everybody unless told otherwise. */
  async start(command: string, settings: Json = {}, mode: string | null = 'public'): Promise<Json> {
    const slug = `app-${++serial}`;
    const made = await this.client.post('/api/tunnels', {
      workspace_id: this.workspace,
      name: slug,
      slug,
      command,
      ...settings,
    });
    if (made.status !== 200) throw new Error(`no server was made: ${JSON.stringify(made.body)}`);
    if (mode) await this.client.put(`/api/tunnel-access/${made.body.id}`, { mode });
    return settings.start === false ? made.body : this.running(made.body.id);
  }

  async running(id: string): Promise<Json> {
    let { body } = await this.client.post(`/api/tunnels/${id}/start`, { wait: 60 });
    while (body.state === 'starting') ({ body } = await this.client.get(`/api/tunnels/${id}`));
    if (body.state === 'running') return body;
    const log = await this.client.get(`/api/tunnels/${id}/logs`);
    throw new Error(`the server is ${body.state}: ${body.reason} ${JSON.stringify(log.body)}`);
  }

  /** The raw answer to a request; its body is still to be read. */
  ask(
    { slug }: Json,
    path = '/',
    { method = 'GET', headers = {}, body, from }: Asking = {},
  ): Promise<IncomingMessage> {
    const { hostname, port } = new URL(this.service.url);
    return new Promise((resolve, reject) => {
      const asked = send(
        {
          hostname,
          port,
          path,
          method,
          localAddress: from,
          headers: { host: `${slug}.servers.localhost:${port}`, ...headers },
        },
        resolve,
      );
      asked.once('error', reject).end(body);
    });
  }

  async text(
    server: Json,
    path?: string,
    asking?: Json,
  ): Promise<{ status: number; text: string; headers: Json }> {
    const answer = await this.ask(server, path, asking);
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk as Buffer);
    return {
      status: answer.statusCode ?? 0,
      text: Buffer.concat(chunks).toString(),
      headers: answer.headers,
    };
  }

  /** A WebSocket as far as its handshake goes; undefined where it is refused. */
  open(
    { slug }: Json,
    path = '/',
    headers: Json = {},
    from?: string,
  ): Promise<{ answer: IncomingMessage; socket?: Duplex }> {
    const { hostname, port } = new URL(this.service.url);
    return new Promise((resolve, reject) => {
      const asked = send({
        hostname,
        port,
        path,
        localAddress: from,
        headers: {
          host: `${slug}.servers.localhost:${port}`,
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
          'sec-websocket-version': '13',
          ...headers,
        },
      });
      asked.once('upgrade', (answer, socket) => resolve({ answer, socket }));
      asked.once('response', answer => resolve({ answer }));
      asked.once('error', reject).end();
    });
  }
}

/** A program that shows what reaches it. */
export const ECHO = `
import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
const life = randomUUID();
const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url, 'http://here');
  if (pathname === '/headers') return response.end(JSON.stringify(request.rawHeaders));
  if (pathname === '/life') return response.end(life);
  if (pathname === '/exit') { response.end('bye'); return setTimeout(() => process.exit(3), 20); }
  if (pathname === '/events') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: first\\n\\n');
    const timer = setInterval(() => response.write('data: again\\n\\n'), 50);
    return response.on('close', () => { clearInterval(timer); console.log('a reader has gone'); });
  }
  if (pathname === '/trailers') {
    response.writeHead(200, { trailer: 'X-Sum' });
    response.write('body');
    response.addTrailers({ 'X-Sum': '42' });
    return response.end();
  }
  if (pathname === '/cookies') {
    response.setHeader('set-cookie', ['mine=1; Domain=localhost; Path=/', '__Host-atl_visit=stolen; Path=/', 'atl_visit=stolen']);
    return response.end();
  }
  if (pathname === '/large') {
    const piece = Buffer.alloc(65536, 'x');
    for (let at = 0; at < 1600; at++)
      if (!response.write(piece)) await new Promise(done => response.once('drain', done));
    return response.end();
  }
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of request) { hash.update(chunk); size += chunk.length; }
  response.end(JSON.stringify({ size, hash: hash.digest('hex') }));
});
server.on('upgrade', (request, socket) => {
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n\\r\\n');
  socket.pipe(socket);
  socket.on('error', () => {});
});
process.on('SIGTERM', () => process.exit(0));
server.listen(process.env.PORT, () => console.log('listening'));
`;

/** A program that sends interim answers for as long as they are taken, and says when a connection has ended. */
export const ENDLESS = `
import { createServer } from 'node:net';
createServer(socket => {
  const many = 'HTTP/1.1 100 Continue\\r\\n\\r\\n'.repeat(2000);
  const more = () => { while (!socket.destroyed && socket.write(many)); };
  socket.on('drain', more).on('error', () => {}).once('data', more);
  socket.on('close', () => console.log('it has been left'));
}).listen(process.env.PORT);
`;
