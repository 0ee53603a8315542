import { Injectable, OnApplicationShutdown } from '@nestjs/common';
import { Log } from '../../../platform/log/index.js';
import { ServersStore } from '../records/servers.store.js';

/** Small compared to the seconds without requests after which servers sleep. */
const FLUSH_MS = 2_000;

/** Reports servers in use to the database, in batches. Open connections count as use. */
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

  /** Returns a function to call at the end. */
  open(serverId: string): () => void {
    const traffic = this.traffic.get(serverId) ?? { open: 0 };
    traffic.open++;
    this.traffic.set(serverId, traffic);
    this.timer ??= setTimeout(() => void this.flush(), FLUSH_MS).unref();
    return () => {
      traffic.open--;
    };
  }

  /** Repeats while there is traffic. */
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
