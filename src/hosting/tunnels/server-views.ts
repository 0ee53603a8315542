import { Injectable } from '@nestjs/common';
import { iso, isoOrNull, type UnitOfWork } from '../../platform/database/index.js';
import { toView } from '../../platform/dto/index.js';
import { HostNames } from '../gateway/index.js';
import { type InstanceRow, InstancesStore } from './records/instances.store.js';
import type { ServerRow } from './records/servers.store.js';
import { type ServerInstanceView, ServerView } from './servers.dto.js';

@Injectable()
export class ServerViews {
  constructor(
    private readonly names: HostNames,
    private readonly instances: InstancesStore,
  ) {}

  async one(server: ServerRow, within?: UnitOfWork): Promise<ServerView> {
    return this.view(server, await this.instances.current(server.id, within));
  }

  async many(servers: readonly ServerRow[]): Promise<ServerView[]> {
    const instances = await this.instances.currentByServer(servers.map(({ id }) => id));
    return servers.map(server => this.view(server, instances.get(server.id)));
  }

  view(server: ServerRow, instance?: InstanceRow): ServerView {
    const { slug } = server;
    return toView(ServerView, server, {
      url: this.names.urlOf('server', slug),
      env: server.env_names,
      memory_bytes: numberOrNull(server.memory_bytes),
      instance: instance ? instanceOf(instance) : null,
    });
  }
}

const instanceOf = ({
  started_at,
  ready_at,
  port,
  memory_bytes,
  cpu_ms,
}: InstanceRow): ServerInstanceView => ({
  started_at: iso(started_at),
  ready_at: isoOrNull(ready_at),
  port,
  memory_bytes: numberOrNull(memory_bytes),
  cpu_ms: numberOrNull(cpu_ms),
});

const numberOrNull = (value: string | number | null): number | null =>
  value === null ? null : Number(value);
