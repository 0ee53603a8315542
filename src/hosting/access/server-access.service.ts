import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { DeletedView } from '../../platform/dto/index.js';
import { HostedTargets } from '../hosts/index.js';
import { ServerAccessView, ServerId, SetServerAccess } from './access.dto.js';
import { AccessChanges } from './access-changes.js';
import { AccessViews } from './access-views.js';

/** Who may open servers, as their editors set it. */
@Injectable()
export class ServerAccessService {
  constructor(
    private readonly targets: HostedTargets,
    private readonly changes: AccessChanges,
    private readonly views: AccessViews,
  ) {}

  @Action({
    name: 'server_access_get',
    route: 'GET /api/tunnel-access/:serverId',
    on: 'server_id',
    summary: 'Read who may open a server',
    effect: 'read',
    permission: 'tunnel.read',
    input: ServerId,
    output: ServerAccessView,
  })
  async read(actor: Actor, { server_id }: ServerId): Promise<ServerAccessView> {
    const target = await this.targets.require(actor, 'tunnel.read', 'server', server_id);
    return { server_id, ...(await this.views.of(actor, target)) };
  }

  @Action({
    name: 'server_access_set',
    route: 'PUT /api/tunnel-access/:serverId',
    on: 'server_id',
    summary: 'Set who may open a server; everybody who has it open is checked anew',
    effect: 'expose',
    consequence:
      'Whoever the mode lets in can then open the server; with link, password and public, without an account.',
    permission: 'tunnel.access',
    input: SetServerAccess,
    output: ServerAccessView,
    refuses: { 409: 'The organization does not allow as much' },
  })
  async set(actor: Actor, { server_id, ...input }: SetServerAccess): Promise<ServerAccessView> {
    const target = await this.changes.open(actor, 'server', server_id, input);
    return { server_id, ...(await this.views.of(actor, target)) };
  }

  @Action({
    name: 'server_access_clear',
    route: 'DELETE /api/tunnel-access/:serverId',
    on: 'server_id',
    summary: 'Close a server to all but the members of its workspace. Organization admins may close any',
    effect: 'destructive',
    consequence: 'Its link and password never work again, and visitors from outside are out at once.',
    permission: 'tunnel.manage',
    input: ServerId,
    output: DeletedView,
  })
  async clear(actor: Actor, { server_id }: ServerId): Promise<DeletedView> {
    await this.changes.close(actor, 'server', server_id);
    return DeletedView.of(server_id);
  }
}
