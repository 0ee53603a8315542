import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { DeletedView } from '../../platform/dto/index.js';
import { HostedExecTokenList, SiteId, SiteTokenId } from './access.dto.js';
import { TokenChanges } from './token-changes.js';

/** The tokens by which a site runs the actions that it offers. They never leave the service. */
@Injectable()
export class SiteExecTokensService {
  constructor(private readonly tokens: TokenChanges) {}

  @Action({
    name: 'site_exec_token_list',
    route: 'GET /api/site-access/:siteId/exec-tokens',
    on: 'site_id',
    summary: 'List the tokens by which a site runs actions for those who look at it',
    effect: 'read',
    permission: 'site.read',
    input: SiteId,
    output: HostedExecTokenList,
  })
  list(actor: Actor, { site_id }: SiteId): Promise<HostedExecTokenList> {
    return this.tokens.listExec(actor, 'site', site_id);
  }

  @Action({
    name: 'site_exec_token_revoke',
    route: 'DELETE /api/site-access/:siteId/exec-tokens/:id',
    on: 'site_id',
    summary: 'Revoke a token by which a site runs actions; it gets another one while it offers any',
    effect: 'destructive',
    consequence: 'Calls that are under way with it fail.',
    permission: 'site.publish',
    input: SiteTokenId,
    output: DeletedView,
    refuses: { 404: 'No such site or token' },
  })
  revoke(actor: Actor, { site_id, id }: SiteTokenId): Promise<DeletedView> {
    return this.tokens.revokeExec(actor, 'site', site_id, id);
  }
}
