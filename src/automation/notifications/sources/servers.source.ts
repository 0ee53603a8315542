import { Injectable, OnModuleInit } from '@nestjs/common';
import { shortName } from '#libs/plain-text/index.js';
import { serverCrashed, serverFailed } from '../../../hosting/tunnels/index.js';
import { type Notice, Notifier } from '../delivery/index.js';
import { SourcesStore } from './sources.store.js';

const MAX_REASON = 500;

type Server = NonNullable<Awaited<ReturnType<SourcesStore['server']>>>;

/** Servers that end by themselves. Who made one is notified, and who started it. */
@Injectable()
export class ServersSource implements OnModuleInit {
  constructor(
    private readonly notifier: Notifier,
    private readonly store: SourcesStore,
  ) {}

  onModuleInit(): void {
    this.notifier.on(serverCrashed, 'server.crashed', async ({ server_id, instance_id }) => {
      const server = await this.store.server(server_id);
      if (!server) return undefined;
      return {
        ...about(server, instance_id),
        title: `The server ${nameOf(server)} ended by itself`,
        body: `It is started again. ${shortName(server.reason ?? '', MAX_REASON)}`,
      };
    });
    this.notifier.on(serverFailed, 'server.failed', async ({ server_id, instance_id }) => {
      const server = await this.store.server(server_id);
      if (server?.state !== 'failed') return undefined;
      return {
        ...about(server, instance_id),
        title: `The server ${nameOf(server)} is not started any more`,
        body: `${shortName(server.reason ?? '', MAX_REASON)} Start it again once that is mended.`,
      };
    });
  }
}

const nameOf = ({ name }: Server): string => `“${shortName(name)}”`;

const about = (server: Server, instanceId: string): Omit<Notice, 'title' | 'body'> => ({
  audience: { people: [...new Set([server.created_by, ...(server.actor ? [server.actor.id] : [])])] },
  organization_id: server.organization_id,
  workspace_id: server.workspace_id,
  about: instanceId,
  data: { server_id: server.id },
  chain: server.actor?.chain,
});
