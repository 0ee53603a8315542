import { Injectable } from '@nestjs/common';
import { iso, isoOrNull, type UnitOfWork } from '../../platform/database/index.js';
import { HostNames } from '../hosts/index.js';
import { type InstanceRow, InstancesStore } from './records/instances.store.js';
import type { ServerRow } from './records/servers.store.js';
import type { ServerInstanceView, ServerView } from './servers.dto.js';

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
    const { id, workspace_id, name, slug, command, install_command, folder, restart, health_path, overlap } =
      server;
    return {
      id,
      workspace_id,
      name,
      slug,
      url: this.names.urlOf('server', slug),
      command,
      install_command,
      folder,
      env: server.env_names,
      restart,
      health_path,
      overlap,
      sleep_after_seconds: server.sleep_after_seconds,
      port: server.port,
      host_header: server.host_header,
      memory_bytes: numberOrNull(server.memory_bytes),
      actions: server.actions,
      connections: server.connections,
      state: server.state,
      reason: server.reason,
      instance: instance ? instanceOf(instance) : null,
      restarts: server.restarts,
      next_attempt_at: isoOrNull(server.next_attempt_at),
      last_exit: server.last_exit,
      last_request_at: isoOrNull(server.last_request_at),
      created_by: server.created_by,
      created_at: iso(server.created_at),
      updated_at: iso(server.updated_at),
    };
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
