import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { DeletedView, type Page } from '../../platform/dto/index.js';
import {
  AccessTokenPage,
  type AccessTokenView,
  CreateServerToken,
  ListServerTokens,
  NewAccessTokenView,
  ServerTokenId,
} from './access.dto.js';
import { TokenChanges } from './token-changes.js';

/** Tokens with which programs open a server. */
@Injectable()
export class ServerTokensService {
  constructor(private readonly tokens: TokenChanges) {}

  @Action({
    name: 'server_token_list',
    route: 'GET /api/tunnel-access/:serverId/tokens',
    on: 'server_id',
    summary: 'List the tokens with which programs open a server',
    effect: 'read',
    permission: 'tunnel.read',
    input: ListServerTokens,
    output: AccessTokenPage,
  })
  list(actor: Actor, { server_id, ...page }: ListServerTokens): Promise<Page<AccessTokenView>> {
    return this.tokens.list(actor, 'server', server_id, page);
  }

  @Action({
    name: 'server_token_create',
    route: 'POST /api/tunnel-access/:serverId/tokens',
    on: 'server_id',
    summary: 'Make a token with which a program opens a server, for 30 days at most',
    effect: 'expose',
    consequence: 'Whoever has the token can open the server until it ends, without an account.',
    permission: 'tunnel.access',
    input: CreateServerToken,
    output: NewAccessTokenView,
    commitsAnswer: true,
  })
  create(actor: Actor, { server_id, ...input }: CreateServerToken): Promise<NewAccessTokenView> {
    return this.tokens.create(actor, 'server', server_id, input);
  }

  @Action({
    name: 'server_token_revoke',
    route: 'DELETE /api/tunnel-access/:serverId/tokens/:id',
    on: 'server_id',
    summary: 'Revoke a token with which programs open a server',
    effect: 'destructive',
    consequence: 'Programs that use it can no longer open the server.',
    permission: 'tunnel.manage',
    input: ServerTokenId,
    output: DeletedView,
    refuses: { 404: 'No such server or token' },
  })
  revoke(actor: Actor, { server_id, id }: ServerTokenId): Promise<DeletedView> {
    return this.tokens.revoke(actor, 'server', server_id, id);
  }
}
