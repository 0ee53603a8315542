import { once } from 'node:events';
import {
  type AddressInfo,
  connect,
  createServer,
  type NetConnectOpts,
  type Server,
  type Socket,
} from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

type Mode = 'pass' | 'swallow' | 'deafen' | 'refuse';

interface Link {
  readonly client: Socket;
  readonly server: Socket;
}

/**
 * A TCP proxy in front of a server (PostgreSQL, Redis, SMTP, a model) that misbehaves on demand: it swallows packets, delays,
 * cuts, resets or garbles. Data that was swallowed is lost for good, so `pass()` after `swallow()` resets what was open.
 */
export class FaultyProxy {
  private mode: Mode = 'pass';
  private delayMs = 0;
  private readonly links = new Set<Link>();

  private constructor(
    private readonly listener: Server,
    private readonly target: NetConnectOpts,
  ) {
    listener.on('connection', client => this.open(client));
  }

  /** In front of the server of a URL: `redis://…`, `http://…`, `postgresql://…` also where its host is a socket's folder. */
  static async start(target: string): Promise<FaultyProxy> {
    const listener = createServer({ noDelay: true });
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    return new FaultyProxy(listener, addressOf(new URL(target)));
  }

  get port(): number {
    return (this.listener.address() as AddressInfo).port;
  }

  /** `url` with the address of this proxy instead of the server's. */
  through(url: string): string {
    const address = new URL(url);
    address.hostname = '127.0.0.1';
    address.port = String(this.port);
    return address.href;
  }

  get connections(): number {
    return this.links.size;
  }

  /** As a good network; what was open while packets were lost is reset. */
  pass(): void {
    if (this.mode === 'swallow' || this.mode === 'deafen') this.reset();
    this.mode = 'pass';
    this.delayMs = 0;
  }

  /** Connections are accepted and stay open; nothing goes through any more, in either direction. */
  swallow(): void {
    this.mode = 'swallow';
  }

  /** What clients send arrives; the answers do not. */
  deafen(): void {
    this.mode = 'deafen';
  }

  /** New connections are reset at once; open ones live on. */
  refuse(): void {
    this.mode = 'refuse';
  }

  /** Each piece of data arrives so much later. */
  delay(milliseconds: number): void {
    this.delayMs = milliseconds;
  }

  /** Ends all open connections in an orderly way (FIN). */
  cut(): void {
    for (const link of this.links) this.close(link, socket => socket.end());
  }

  /** Ends all open connections with RST. */
  reset(): void {
    for (const link of this.links) this.close(link, reset);
  }

  /** Sends `bytes` to every client as if the server had. */
  garble(bytes: Buffer = Buffer.from('Z\xff\xff\xff\xffgarbage\x00\x01\x02', 'latin1')): void {
    for (const { client } of this.links) client.write(bytes);
  }

  async stop(): Promise<void> {
    for (const link of this.links) this.close(link, socket => socket.destroy());
    this.listener.close();
    await once(this.listener, 'close');
  }

  private open(client: Socket): void {
    if (this.mode === 'refuse') {
      client.on('error', () => undefined);
      reset(client);
      return;
    }
    const server = connect(this.target);
    const link = { client, server };
    this.links.add(link);
    this.forward(link, client, server);
    this.forward(link, server, client);
  }

  private forward(link: Link, from: Socket, to: Socket): void {
    let order = Promise.resolve();
    from.on('data', data => {
      if (this.mode === 'swallow' || (this.mode === 'deafen' && from === link.server)) return;
      if (this.delayMs === 0) {
        order = order.then(() => void to.write(data));
        return;
      }
      const arrives = sleep(this.delayMs);
      order = order.then(() => arrives).then(() => void (this.mode !== 'swallow' && to.write(data)));
    });
    from.on('error', () => this.passOn(link, socket => socket.destroy()));
    from.on('close', () => this.passOn(link, socket => socket.destroy()));
    from.on('end', () => this.passOn(link, () => order.then(() => to.end())));
  }

  /** The other side learns of an end, unless packets are swallowed. */
  private passOn(link: Link, act: (socket: Socket) => unknown): void {
    if (this.mode === 'swallow' || !this.links.has(link)) return;
    act(link.client);
    act(link.server);
    if (link.client.destroyed && link.server.destroyed) this.links.delete(link);
  }

  private close(link: Link, act: (socket: Socket) => unknown): void {
    this.links.delete(link);
    act(link.client);
    act(link.server);
  }
}

/** A Unix socket knows no reset. */
function reset(socket: Socket): void {
  if (socket.remoteAddress === undefined) socket.destroy();
  else socket.resetAndDestroy();
}

function addressOf({ hostname, port }: URL): NetConnectOpts {
  const host = decodeURIComponent(hostname);
  return host.startsWith('/')
    ? { path: `${host}/.s.PGSQL.${port}` }
    : { host, port: Number(port), noDelay: true };
}
