import { connect as connectSocket, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { Injectable } from '@nestjs/common';
import { Leases } from '../../../platform/leases/index.js';
import { Log } from '../../../platform/log/index.js';
import { type InstanceAddress, type InstanceRow, InstancesStore } from '../records/instances.store.js';
import { RunningServers } from './running-servers.js';
import { LINK_TLS, readLine, ServerTickets } from './server-tickets.js';

type Reached = Pick<InstanceRow, 'id' | 'holder' | 'address'>;

/** The instance or its process is about to end. */
export class Unreachable extends Error {
  constructor(options?: ErrorOptions) {
    super('The server cannot be reached', options);
  }
}

@Injectable()
export class ServerConnections {
  constructor(
    private readonly running: RunningServers,
    private readonly leases: Leases,
    private readonly tickets: ServerTickets,
    private readonly instances: InstancesStore,
    private readonly log: Log,
  ) {}

  /** Connects to the port of the program. Rejects with {@link Unreachable}, or the abort reason. */
  async connect(instance: Reached, signal: AbortSignal): Promise<Duplex> {
    try {
      if (instance.holder === this.leases.processId) return await this.inside(instance, signal);
      return await this.elsewhere(instance, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof Unreachable ? error : new Unreachable({ cause: error });
    }
  }

  /** Call when a connection failed: an instance of this process is checked at once. */
  suspect({ id }: Reached): void {
    this.running
      .find(id)
      ?.check()
      .catch((error: unknown) =>
        this.log.warn({ err: error, server_instance_id: id }, 'a server could not be checked'),
      );
  }

  private async inside({ id }: Reached, signal: AbortSignal): Promise<Duplex> {
    const instance = this.running.find(id);
    if (!instance?.program || instance.port === undefined) throw new Unreachable();
    return instance.program.door.connect(instance.port, signal);
  }

  private async elsewhere({ id, address }: Reached, signal: AbortSignal): Promise<Duplex> {
    const where = address ?? (await this.instances.find(id))?.address;
    if (!where) throw new Unreachable();
    const socket = await this.dial(where, signal);
    socket.write(`${this.tickets.write(id)}\n`);
    const answer = await readLine(socket);
    if (answer === 'open') return socket;
    socket.destroy();
    throw new Unreachable();
  }

  /** Uses the local socket, else the network. */
  private async dial({ path, host, port }: InstanceAddress, signal: AbortSignal): Promise<Socket> {
    try {
      if (path) return await opened(connectSocket({ path, allowHalfOpen: true, signal }), 'connect');
    } catch (error) {
      if (host === undefined) throw error;
    }
    const [key] = this.tickets.keys;
    if (host === undefined || port === undefined || !key) throw new Unreachable();
    const options = {
      host,
      port,
      allowHalfOpen: true,
      pskCallback: () => key,
      checkServerIdentity: () => undefined,
    };
    const socket = connectTls({ ...LINK_TLS, ...options });
    const stop = () => socket.destroy();
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await opened(socket, 'secureConnect');
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }
}

function opened(socket: Socket, event: 'connect' | 'secureConnect'): Promise<Socket> {
  return new Promise((resolve, reject) => {
    socket.on('error', () => socket.destroy());
    socket.once(event, () => resolve(socket)).once('close', () => reject(new Unreachable()));
  });
}
