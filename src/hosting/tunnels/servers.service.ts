import { Injectable, OnModuleInit } from '@nestjs/common';
import { workspacePath } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Database } from '../../platform/database/index.js';
import { ById, DeletedView, type Page, selectPage } from '../../platform/dto/index.js';
import { ListAcrossWorkspaces } from '../../workspaces/core/index.js';
import { HostedRegistry } from '../gateway/index.js';
import { ServersStore } from './records/servers.store.js';
import { ServerAuthority } from './running/server-authority.js';
import { ServerMeter } from './running/server-meter.js';
import { ServerRules } from './server-rules.js';
import { ServerViews } from './server-views.js';
import { CreateServer, ServerPage, ServerView, UpdateServer } from './servers.dto.js';

/** Changes of these columns restart the program. */
const NEEDS_RESTART = new Set([
  'command',
  'install_command',
  'folder',
  'env_names',
  'env_sealed',
  'port',
  'memory_bytes',
  'actions',
  'health_path',
  'connections',
]);

@Injectable()
export class ServersService implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly servers: ServersStore,
    private readonly hosted: HostedRegistry,
    private readonly rules: ServerRules,
    private readonly authority: ServerAuthority,
    private readonly views: ServerViews,
    private readonly meter: ServerMeter,
  ) {}

  onModuleInit(): void {
    this.hosted.addKind('server', id => this.servers.find(id));
  }

  @Action('server_list', 'GET /api/tunnels', {
    summary: 'List the servers in the workspaces that the caller sees, or in one of them',
    permission: 'tunnel.read',
    input: ListAcrossWorkspaces,
    output: ServerPage,
    refuses: { 404: 'No such workspace' },
  })
  async list(actor: Actor, input: ListAcrossWorkspaces): Promise<Page<ServerView>> {
    await this.hosted.requireListing(actor, 'tunnel.read', input.workspace_id);
    const visible = this.servers.visible(actor, input.workspace_id);
    const { items, next_cursor } = await selectPage(visible, input, { by: 's.id' });
    return { items: await this.views.many(items), next_cursor };
  }

  @Action('server_create', 'POST /api/tunnels', {
    summary: 'Make a server: a command in a folder that runs for long and answers on a host of its own',
    description:
      'It runs in a sandbox of the workspace. Members of the workspace may open its url; server_access_set lets in others.',
    permission: 'tunnel.run',
    input: CreateServer,
    output: ServerView,
    commitsAnswer: true,
    refuses: {
      404: 'No such workspace',
      409: 'The slug is taken, there are as many servers as there may be, or there is no domain for servers',
    },
  })
  async create(actor: Actor, input: CreateServer): Promise<ServerView> {
    const { workspace_id: workspaceId, command, start = true } = input;
    const draft = await this.hosted.draft(actor, 'tunnel.run', 'server', input);
    await this.authority.requireGranted(actor, workspaceId, input.connections ?? []);
    const { id, name, slug } = draft;
    return this.database.transaction(async unit => {
      await this.hosted.lockWorkspace(unit, actor, 'tunnel.run', workspaceId);
      await this.rules.requireRoom(unit, workspaceId);
      const settings = this.rules.readSettings({ id, env_sealed: null }, input);
      const folder = workspacePath(input.folder ?? '');
      await this.servers.add(unit, { ...draft, ...settings, command, folder });
      await this.hosted.claim(unit, 'server', draft);
      const server = await this.servers.require(id, unit);
      if (start) await this.rules.start(unit, actor, server);
      const details = { name, slug, command, folder, env: server.env_names, started: start };
      await this.hosted.record(unit, actor, 'server.create', server, details);
      return unit.answers(this.views.view(await this.servers.require(id, unit)));
    });
  }

  @Action('server_get', 'GET /api/tunnels/:id', {
    on: { id: 'server' },
    summary: 'Read a server: how it stands and why, its process, and where it answers',
    permission: 'tunnel.read',
    input: ById({ id: 'The server' }),
    output: ServerView,
  })
  async read(actor: Actor, { id }: ById): Promise<ServerView> {
    await this.hosted.require(actor, 'tunnel.read', 'server', id);
    return this.views.one(await this.servers.require(id));
  }

  @Action('server_update', 'PATCH /api/tunnels/:id', {
    on: { id: 'server' },
    summary:
      'Change a server; where it runs and that concerns its process, it is restarted, and requests wait',
    permission: 'tunnel.run',
    input: UpdateServer,
    output: ServerView,
    refuses: { 409: 'The slug is taken' },
  })
  async update(actor: Actor, input: UpdateServer): Promise<ServerView> {
    const { id, name, slug, command } = input;
    const { workspaceId } = await this.hosted.require(actor, 'tunnel.run', 'server', id);
    await this.authority.requireGranted(actor, workspaceId, input.connections ?? []);
    await this.database.transaction(async unit => {
      const server = await this.servers.lock(unit, id);
      const changes = {
        ...this.rules.readSettings(server, input),
        ...(input.folder !== undefined && { folder: workspacePath(input.folder) }),
        ...(name !== undefined && { name: name.trim() }),
        ...(slug !== undefined && { slug }),
        ...(command !== undefined && { command }),
      };
      await this.hosted.rename(unit, 'server', server, { name, slug });
      await this.servers.update(unit, id, changes);
      if (Object.keys(changes).some(key => NEEDS_RESTART.has(key)))
        await this.servers.restart(unit, id, actor);
      const { env_sealed: _env, ...details } = changes;
      await this.hosted.record(unit, actor, 'server.update', server, details);
    });
    return this.read(actor, { id });
  }

  @Action('server_delete', 'DELETE /api/tunnels/:id', {
    on: { id: 'server' },
    summary: 'Delete a server with what it printed; its folder in the workspace stays',
    consequence: 'Its program ends at once, and no other workspace gets its slug for 30 days.',
    permission: 'tunnel.manage',
    input: ById({ id: 'The server' }),
    output: DeletedView,
  })
  async delete(actor: Actor, { id }: ById): Promise<DeletedView> {
    await this.hosted.require(actor, 'tunnel.manage', 'server', id);
    await this.database.deletion(async unit => {
      const server = await this.servers.lock(unit, id);
      await this.hosted.release(unit, 'server', id);
      await this.meter.enter(unit, id);
      await this.servers.remove(unit, id);
      const { name, slug } = server;
      await this.hosted.record(unit, actor, 'server.delete', server, { name, slug });
    });
    return DeletedView.of(id);
  }
}
