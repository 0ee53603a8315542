import { Injectable, OnModuleInit } from '@nestjs/common';
import { workspacePath } from '#libs/workspace-fs/index.js';
import { type Actor, requireScope } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, newId } from '../../platform/database/index.js';
import { DEFAULT_LIMIT, DeletedView, decodeCursor, type Page, pageOf } from '../../platform/dto/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { HostedTargets, HostNames, slugOf } from '../hosts/index.js';
import { type ServerRow, ServersStore } from './records/servers.store.js';
import { ServerCredentials } from './running/server-credentials.js';
import { ServerMeter } from './running/server-meter.js';
import { ServerRules } from './server-rules.js';
import { ServerViews } from './server-views.js';
import { CreateServer, ListServers, ServerId, ServerPage, ServerView, UpdateServer } from './servers.dto.js';

const MAX_RANDOM = 36 ** 4;
/** What a process that runs goes by: a change of these starts another one. */
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

/** Servers: what they run, and where they answer. */
@Injectable()
export class ServersService implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly servers: ServersStore,
    private readonly workspaces: WorkspacesStore,
    private readonly names: HostNames,
    private readonly targets: HostedTargets,
    private readonly rules: ServerRules,
    private readonly credentials: ServerCredentials,
    private readonly views: ServerViews,
    private readonly meter: ServerMeter,
    private readonly audit: Audit,
  ) {}

  onModuleInit(): void {
    this.targets.add({
      kind: 'server',
      find: async id => {
        const server = await this.servers.find(id);
        return (
          server && {
            kind: 'server',
            id,
            name: server.name,
            slug: server.slug,
            createdBy: server.created_by,
            workspaceId: server.workspace_id,
            organizationId: server.organization_id,
          }
        );
      },
    });
  }

  @Action({
    name: 'server_list',
    route: 'GET /api/tunnels',
    on: 'workspace_id',
    summary: 'List the servers in the workspaces that the caller sees, or in one of them',
    effect: 'read',
    permission: 'tunnel.read',
    input: ListServers,
    output: ServerPage,
    refuses: { 404: 'No such workspace' },
  })
  async list(actor: Actor, input: ListServers): Promise<Page<ServerView>> {
    const { workspace_id: workspaceId, limit = DEFAULT_LIMIT, cursor } = input;
    requireScope(actor, 'tunnel.read');
    if (workspaceId) await this.workspaces.require(actor, 'tunnel.read', workspaceId);
    const [after] = decodeCursor(cursor, 'id');
    const rows = await this.servers.list(actor, { workspaceId, after, limit: limit + 1 });
    const views = new Map((await this.views.many(rows)).map(view => [view.id, view]));
    return pageOf(
      rows,
      limit,
      row => views.get(row.id) ?? this.views.view(row),
      row => [row.id],
    );
  }

  @Action({
    name: 'server_create',
    route: 'POST /api/tunnels',
    on: 'workspace_id',
    summary: 'Make a server: a command in a folder that runs for long and answers on a host of its own',
    description:
      'It runs in a sandbox of the workspace. Members of the workspace may open its url; server_access_set lets in others.',
    effect: 'write',
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
    await this.workspaces.require(actor, 'tunnel.run', workspaceId);
    this.names.requireUsable();
    await this.credentials.requireGranted(actor, workspaceId, input.connections ?? []);
    const name = input.name.trim();
    const slug = input.slug ?? (slugOf(name) || randomSlug());
    const id = newId();
    return this.database.transaction(async unit => {
      await this.workspaces.requireLocked(unit, actor, 'tunnel.run', workspaceId);
      await this.rules.requireRoom(unit, workspaceId);
      const settings = this.rules.settingsOf({ id, env_sealed: null }, input);
      await this.servers.add(unit, {
        id,
        workspace_id: workspaceId,
        slug,
        name,
        command,
        created_by: actor.id,
        ...settings,
        folder: workspacePath(input.folder ?? ''),
      });
      await this.names.claim(unit, { kind: 'server', targetId: id, workspaceId, slug });
      const server = await this.servers.require(id, unit);
      if (start) await this.rules.start(unit, actor, server);
      const details = { name, slug, command, folder: server.folder, env: server.env_names, started: start };
      await this.audit.record(unit, actor, 'server.create', targetOf(server), details);
      return unit.answers(this.views.view(await this.servers.require(id, unit)));
    });
  }

  @Action({
    name: 'server_get',
    route: 'GET /api/tunnels/:id',
    on: { id: 'server' },
    summary: 'Read a server: how it stands and why, its process, and where it answers',
    effect: 'read',
    permission: 'tunnel.read',
    input: ServerId,
    output: ServerView,
  })
  async read(actor: Actor, { id }: ServerId): Promise<ServerView> {
    await this.targets.requireServer(actor, 'tunnel.read', id);
    return this.views.one(await this.servers.require(id));
  }

  @Action({
    name: 'server_update',
    route: 'PATCH /api/tunnels/:id',
    on: { id: 'server' },
    summary:
      'Change a server; where it runs and that concerns its process, it is restarted, and requests wait',
    effect: 'write',
    permission: 'tunnel.run',
    input: UpdateServer,
    output: ServerView,
    refuses: { 409: 'The slug is taken' },
  })
  async update(actor: Actor, input: UpdateServer): Promise<ServerView> {
    const { id, name, slug, command } = input;
    const { workspaceId } = await this.targets.requireServer(actor, 'tunnel.run', id);
    await this.credentials.requireGranted(actor, workspaceId, input.connections ?? []);
    await this.database.transaction(async unit => {
      const server = await this.servers.lock(unit, id);
      const changes = {
        ...this.rules.settingsOf(server, input),
        ...(input.folder !== undefined && { folder: workspacePath(input.folder) }),
        ...(name !== undefined && { name: name.trim() }),
        ...(slug !== undefined && { slug }),
        ...(command !== undefined && { command }),
      };
      if (slug !== undefined && slug !== server.slug)
        await this.names.rename(unit, {
          kind: 'server',
          targetId: id,
          workspaceId: server.workspace_id,
          slug,
        });
      else if (name !== undefined) await this.names.changed(unit);
      await this.servers.update(unit, id, changes);
      if (Object.keys(changes).some(key => NEEDS_RESTART.has(key)))
        await this.servers.restart(unit, id, actor);
      const { env_sealed: _env, ...details } = changes;
      await this.audit.record(unit, actor, 'server.update', targetOf(server), details);
    });
    return this.read(actor, { id });
  }

  @Action({
    name: 'server_delete',
    route: 'DELETE /api/tunnels/:id',
    on: { id: 'server' },
    summary: 'Delete a server with what it printed; its folder in the workspace stays',
    effect: 'destructive',
    consequence: 'Its program ends at once, and no other workspace gets its slug for 30 days.',
    permission: 'tunnel.manage',
    input: ServerId,
    output: DeletedView,
  })
  async delete(actor: Actor, { id }: ServerId): Promise<DeletedView> {
    await this.targets.requireServer(actor, 'tunnel.manage', id);
    await this.database.deletion(async unit => {
      const server = await this.servers.lock(unit, id);
      await this.names.release(unit, 'server', id);
      await this.meter.enter(unit, id);
      await this.servers.remove(unit, id);
      const { name, slug } = server;
      await this.audit.record(unit, actor, 'server.delete', targetOf(server), { name, slug });
    });
    return DeletedView.of(id);
  }
}

export const targetOf = ({ id, organization_id, workspace_id }: ServerRow) => ({
  type: 'server',
  id,
  organization_id,
  workspace_id,
});

const randomSlug = () => `server-${Math.floor(Math.random() * MAX_RANDOM).toString(36)}`;
