import { connect as connectSocket, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { Leases } from '../../../platform/leases/index.js';
import { Log } from '../../../platform/log/index.js';
import { type InstanceRow, InstancesStore } from '../records/instances.store.js';
import { RunningServers } from './running-servers.js';
import { readLine, ServerTickets } from './server-tickets.js';

type Reached = Pick<InstanceRow, 'id' | 'holder' | 'address'>;

/** An instance that cannot be reached: it is about to end, or its process is. */
export class Unreachable extends Error {
  constructor(options?: ErrorOptions) {
    super('The server cannot be reached', options);
  }
}

/** Connections to programs of servers, whichever process of the service runs them. */
@Injectable()
export class ServerConnections {
  constructor(
    private readonly running: RunningServers,
    private readonly leases: Leases,
    private readonly tickets: ServerTickets,
    private readonly instances: InstancesStore,
    private readonly log: Log,
  ) {}

  /** To the port on which the program answers. Rejects with {@link Unreachable}, or the reason of the signal. */
  async connect(instance: Reached, signal: AbortSignal): Promise<Duplex> {
    try {
      if (instance.holder === this.leases.processId) return await this.inside(instance, signal);
      return await this.elsewhere(instance, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof Unreachable ? error : new Unreachable({ cause: error });
    }
  }

  /** To be called for one that could not be reached: it is looked at at once, where this process runs it. */
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
    if (!where?.path) throw new Unreachable();
    const socket = connectSocket({ path: where.path, allowHalfOpen: true, signal });
    // Later errors end the stream, and with it the exchange.
    socket.on('error', () => socket.destroy());
    await opened(socket);
    socket.write(`${this.tickets.write(id)}\n`);
    const answer = await readLine(socket);
    if (answer === 'open') return socket;
    socket.destroy();
    throw new Unreachable();
  }
}

function opened(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('connect', resolve).once('close', () => reject(new Unreachable()));
  });
}
