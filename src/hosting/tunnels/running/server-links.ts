import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { scratchFolder } from '#libs/sandbox/index.js';
import { DoorClosed, PortRefused } from '#libs/sandbox-door/index.js';
import { Config } from '../../../platform/config/index.js';
import { Log } from '../../../platform/log/index.js';
import type { InstanceAddress } from '../records/instances.store.js';
import { RunningServers } from './running-servers.js';
import { LINK_TLS, readLine, ServerTickets } from './server-tickets.js';

const MAX_GREETING_MS = 5_000;

/** Accepts connections from other processes of the service: a ticket, then bytes. */
@Injectable()
export class ServerLinks implements BeforeApplicationShutdown {
  private readonly sockets = new Set<Socket>();
  private opening: Promise<{ servers: Server[]; folder: string; address: InstanceAddress }> | undefined;

  constructor(
    private readonly config: Config,
    private readonly running: RunningServers,
    private readonly tickets: ServerTickets,
    private readonly log: Log,
  ) {}

  /** Starts to listen at the first call. */
  async address(): Promise<InstanceAddress> {
    this.opening ??= this.open();
    return (await this.opening).address;
  }

  async beforeApplicationShutdown(): Promise<void> {
    const opened = await this.opening;
    if (!opened) return;
    for (const server of opened.servers) server.close();
    for (const socket of this.sockets) socket.destroy();
    await rm(opened.folder, { recursive: true, force: true });
  }

  private async open() {
    // Only the account of the service passes through it.
    const folder = await scratchFolder(this.config.scratchDir, 'atelier-link');
    const file = path.join(folder, 'link.sock');
    const serve = (socket: Socket) => void this.serve(socket);
    const local = createServer({ allowHalfOpen: true, noDelay: true }, serve).listen(file);
    await once(local, 'listening');
    const { internalAddress } = this.config;
    if (internalAddress === undefined) return { servers: [local], folder, address: { path: file } };
    const remote = createTlsServer(
      { ...LINK_TLS, allowHalfOpen: true, pskCallback: (_socket, identity) => this.findKey(identity) },
      serve,
    );
    remote.on('tlsClientError', error => this.log.debug({ err: error }, 'a link to a server was refused'));
    remote.listen(internalAddress.port);
    await once(remote, 'listening');
    const bound = remote.address();
    const port = typeof bound === 'object' && bound ? bound.port : internalAddress.port;
    return { servers: [local, remote], folder, address: { path: file, host: internalAddress.host, port } };
  }

  private findKey(identity: string): Buffer | null {
    return this.tickets.keys.find(key => key.identity === identity)?.psk ?? null;
  }

  private async serve(near: Socket): Promise<void> {
    this.sockets.add(near);
    near.once('close', () => this.sockets.delete(near)).on('error', () => near.destroy());
    const limit = setTimeout(() => near.destroy(), MAX_GREETING_MS);
    const ticket = this.tickets.read(await readLine(near));
    clearTimeout(limit);
    const instance = ticket && this.running.find(ticket.instance);
    const port = instance?.port;
    if (!instance?.program || port === undefined) return void near.end('gone\n');
    try {
      const far = await instance.program.door.connect(port);
      if (near.destroyed) return void far.destroy();
      near.write('open\n');
      const end = () => {
        near.destroy();
        far.destroy();
      };
      near.once('close', end);
      far.once('close', end);
      near.pipe(far).pipe(near);
    } catch (error) {
      if (!(error instanceof PortRefused || error instanceof DoorClosed))
        this.log.debug({ err: error, server_instance_id: instance.row.id }, 'a server was not reached');
      near.end(error instanceof PortRefused ? 'refused\n' : 'gone\n');
    }
  }
}
