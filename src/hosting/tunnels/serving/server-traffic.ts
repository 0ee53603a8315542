import { Injectable, OnApplicationShutdown } from '@nestjs/common';
import { Log } from '../../../platform/log/index.js';
import { ServersStore } from '../records/servers.store.js';

/** Servers are stopped only after so many seconds without requests that this is little. */
const FLUSH_MS = 2_000;

/** Which servers are in use, told to the database in batches: those with open connections are in use all the time. */
@Injectable()
export class ServerTraffic implements OnApplicationShutdown {
  private readonly traffic = new Map<string, { open: number }>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly servers: ServersStore,
    private readonly log: Log,
  ) {}

  onApplicationShutdown(): void {
    clearTimeout(this.timer);
  }

  /** Counts a request or connection; returns what is called at its end. */
  open(serverId: string): () => void {
    const traffic = this.traffic.get(serverId) ?? { open: 0 };
    traffic.open++;
    this.traffic.set(serverId, traffic);
    this.timer ??= setTimeout(() => void this.flush(), FLUSH_MS).unref();
    return () => {
      traffic.open--;
    };
  }

  /** Goes on while there is any. */
  private async flush(): Promise<void> {
    const used: string[] = [];
    for (const [id, traffic] of this.traffic) {
      used.push(id);
      if (traffic.open === 0) this.traffic.delete(id);
    }
    await this.servers
      .touch(used)
      .catch((error: unknown) => this.log.warn({ err: error }, 'the use of servers could not be noted'));
    this.timer = this.traffic.size > 0 ? setTimeout(() => void this.flush(), FLUSH_MS).unref() : undefined;
  }
}
