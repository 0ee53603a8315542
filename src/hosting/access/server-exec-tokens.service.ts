import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { DeletedView } from '../../platform/dto/index.js';
import { HostedExecTokenList, ServerId, ServerTokenId } from './access.dto.js';
import { TokenChanges } from './token-changes.js';

/** The tokens with which the programs of a server run actions. */
@Injectable()
export class ServerExecTokensService {
  constructor(private readonly tokens: TokenChanges) {}

  @Action({
    name: 'server_exec_token_list',
    route: 'GET /api/tunnel-access/:serverId/exec-tokens',
    on: 'server_id',
    summary: 'List the tokens by which a server runs actions',
    effect: 'read',
    permission: 'tunnel.read',
    input: ServerId,
    output: HostedExecTokenList,
  })
  list(actor: Actor, { server_id }: ServerId): Promise<HostedExecTokenList> {
    return this.tokens.listExec(actor, 'server', server_id);
  }

  @Action({
    name: 'server_exec_token_revoke',
    route: 'DELETE /api/tunnel-access/:serverId/exec-tokens/:id',
    on: 'server_id',
    summary:
      'Revoke a token by which a server runs actions; its program gets another one when it is started again',
    effect: 'destructive',
    consequence: 'Calls that are under way with it fail.',
    permission: 'tunnel.manage',
    input: ServerTokenId,
    output: DeletedView,
    refuses: { 404: 'No such server or token' },
  })
  revoke(actor: Actor, { server_id, id }: ServerTokenId): Promise<DeletedView> {
    return this.tokens.revokeExec(actor, 'server', server_id, id);
  }
}
