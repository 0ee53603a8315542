import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Config } from '../../platform/config/index.js';
import type { UnitOfWork } from '../../platform/database/index.js';
import { Conflict, Invalid } from '../../platform/errors/index.js';
import { HostedRegistry } from '../gateway/index.js';
import { type ServerChanges, type ServerRow, ServersStore } from './records/servers.store.js';
import { ServerEnv } from './running/server-env.js';
import type { CreateServer } from './servers.dto.js';

@Injectable()
export class ServerRules {
  constructor(
    private readonly config: Config,
    private readonly servers: ServersStore,
    private readonly env: ServerEnv,
    private readonly hosted: HostedRegistry,
  ) {}

  /** Columns for the given settings. 422 for invalid ones. */
  readSettings(server: Pick<ServerRow, 'id' | 'env_sealed'>, input: Partial<CreateServer>): ServerChanges {
    const { restart, health_path, overlap, sleep_after_seconds, port, host_header } = input;
    const { memory_bytes, actions, connections, install_command } = input;
    const { memory: most } = this.config.serverLimits;
    if (memory_bytes && memory_bytes > most)
      throw new Invalid(`memory_bytes is ${most} at most on this installation`);
    if (actions) this.hosted.requireActions(actions);
    const given = Object.entries({
      restart,
      health_path,
      overlap,
      sleep_after_seconds,
      port,
      host_header,
      install_command,
      actions: actions && [...new Set(actions)],
      connections: connections && [...new Set(connections)],
      memory_bytes: memory_bytes === undefined || memory_bytes === null ? memory_bytes : String(memory_bytes),
    }).filter(([, value]) => value !== undefined);
    return { ...Object.fromEntries(given), ...(input.env && this.env.changed(server, input.env)) };
  }

  /** 409 if the workspace has its maximum of servers. */
  async requireRoom(unit: UnitOfWork, workspaceId: string): Promise<void> {
    const { servers: most } = this.config.workspaceLimits;
    if ((await this.servers.count(unit, workspaceId)) >= most)
      throw new Conflict(`The workspace has ${most} servers, as many as it may; delete one`);
  }

  /** 409 if the organization runs its maximum of servers. */
  async start(unit: UnitOfWork, actor: Actor, server: ServerRow): Promise<void> {
    const { organization: most } = this.config.serverLimits;
    if ((await this.servers.countWanted(unit, server)) >= most)
      throw new Conflict(`${most} servers of the organization run, as many as may; stop one of them first`);
    await this.servers.start(unit, server.id, actor);
  }
}
