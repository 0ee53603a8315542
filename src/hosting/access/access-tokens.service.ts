import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { DeletedView, type Page } from '../../platform/dto/index.js';
import {
  AccessTokenPage,
  type AccessTokenView,
  CreateSiteToken,
  ListSiteTokens,
  NewAccessTokenView,
  SiteTokenId,
} from './access.dto.js';
import { TokenChanges } from './token-changes.js';

/** Tokens with which programs open a site. */
@Injectable()
export class AccessTokensService {
  constructor(private readonly tokens: TokenChanges) {}

  @Action({
    name: 'site_token_list',
    route: 'GET /api/site-access/:siteId/tokens',
    on: 'site_id',
    summary: 'List the tokens with which programs open a site',
    effect: 'read',
    permission: 'site.read',
    input: ListSiteTokens,
    output: AccessTokenPage,
  })
  list(actor: Actor, { site_id, ...page }: ListSiteTokens): Promise<Page<AccessTokenView>> {
    return this.tokens.list(actor, 'site', site_id, page);
  }

  @Action({
    name: 'site_token_create',
    route: 'POST /api/site-access/:siteId/tokens',
    on: 'site_id',
    summary: 'Make a token with which a program opens a site, for 30 days at most',
    effect: 'expose',
    consequence: 'Whoever has the token can open the site until it ends, without an account.',
    permission: 'hosting.access',
    input: CreateSiteToken,
    output: NewAccessTokenView,
    commitsAnswer: true,
  })
  create(actor: Actor, { site_id, ...input }: CreateSiteToken): Promise<NewAccessTokenView> {
    return this.tokens.create(actor, 'site', site_id, input);
  }

  @Action({
    name: 'site_token_revoke',
    route: 'DELETE /api/site-access/:siteId/tokens/:id',
    on: 'site_id',
    summary: 'Revoke a token with which programs open a site',
    effect: 'destructive',
    consequence: 'Programs that use it can no longer open the site.',
    permission: 'site.publish',
    input: SiteTokenId,
    output: DeletedView,
    refuses: { 404: 'No such site or token' },
  })
  revoke(actor: Actor, { site_id, id }: SiteTokenId): Promise<DeletedView> {
    return this.tokens.revoke(actor, 'site', site_id, id);
  }
}
