import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Database, dryRun, type UnitOfWork } from '../../platform/database/index.js';
import { Conflict } from '../../platform/errors/index.js';
import { LongPolls } from '../../platform/streams/index.js';
import { HostedRegistry } from '../gateway/index.js';
import { isUp } from './records/server-states.js';
import { type ServerRow, ServersStore, serverTopic } from './records/servers.store.js';
import { ServerRules } from './server-rules.js';
import { ServerViews } from './server-views.js';
import { MoveServer, ServerView } from './servers.dto.js';

const WAITING = 'With wait=30 the answer comes when it runs or has failed to; else at once.';

@Injectable()
export class ServerMovesService {
  constructor(
    private readonly database: Database,
    private readonly servers: ServersStore,
    private readonly hosted: HostedRegistry,
    private readonly rules: ServerRules,
    private readonly views: ServerViews,
    private readonly polls: LongPolls,
  ) {}

  @Action('server_start', 'POST /api/tunnels/:id/start', {
    on: { id: 'server' },
    summary: 'Start a server; one that runs already goes on',
    description: WAITING,
    permission: 'tunnel.run',
    input: MoveServer,
    output: ServerView,
    commitsAnswer: true,
    refuses: { 409: 'As many servers of the organization run as may' },
  })
  async start(actor: Actor, { id, wait }: MoveServer): Promise<ServerView> {
    const view = await this.move(actor, 'tunnel.run', id, 'server.start', async (unit, server) => {
      if (!isUp(server.state)) await this.rules.start(unit, actor, server);
    });
    return this.settled(view, wait);
  }

  @Action('server_stop', 'POST /api/tunnels/:id/stop', {
    on: { id: 'server' },
    summary: 'Stop a server until somebody starts it; requests for it are refused meanwhile',
    consequence: 'Whatever its program keeps only in memory is lost.',
    permission: 'tunnel.manage',
    input: MoveServer,
    output: ServerView,
    commitsAnswer: true,
  })
  async stop(actor: Actor, { id, wait }: MoveServer): Promise<ServerView> {
    const view = await this.move(actor, 'tunnel.manage', id, 'server.stop', async unit => {
      await this.servers.stop(unit, id, 'It was stopped by hand.');
    });
    return this.settled(view, wait);
  }

  @Action('server_restart', 'POST /api/tunnels/:id/restart', {
    on: { id: 'server' },
    summary: 'Restart a server with the files as they are now; requests wait meanwhile, and none is lost',
    description: WAITING,
    permission: 'tunnel.run',
    input: MoveServer,
    output: ServerView,
    commitsAnswer: true,
    refuses: { 409: 'It does not run' },
  })
  async restart(actor: Actor, { id, wait }: MoveServer): Promise<ServerView> {
    const view = await this.move(actor, 'tunnel.run', id, 'server.restart', async (unit, { state }) => {
      if (!(await this.servers.restart(unit, id, actor)))
        throw new Conflict(`The server is ${state}, and there is nothing to restart; start it`);
    });
    return this.settled(view, wait);
  }

  private async move(
    actor: Actor,
    permission: 'tunnel.run' | 'tunnel.manage',
    id: string,
    action: `server.${string}`,
    change: (unit: UnitOfWork, server: ServerRow) => Promise<void>,
  ): Promise<ServerView> {
    await this.hosted.require(actor, permission, 'server', id);
    return this.database.transaction(async unit => {
      const server = await this.servers.lock(unit, id);
      await change(unit, server);
      await this.hosted.record(unit, actor, action, server, { before: server.state });
      return unit.answers(await this.views.one(await this.servers.require(id, unit), unit));
    });
  }

  /** Waits until the server neither starts nor stops, for `wait` seconds at most. */
  private async settled(view: ServerView, wait = 0): Promise<ServerView> {
    const { id } = view;
    if (wait === 0 || dryRun()) return view;
    const read = async () => this.views.one(await this.servers.require(id));
    return this.polls.wait(serverTopic(id), wait, read, ({ state, instance }) =>
      state === 'stopped' ? instance === null : state !== 'starting',
    );
  }
}
