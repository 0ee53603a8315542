import { Injectable } from '@nestjs/common';
import { type Actor, hashSecret } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, iso, newId } from '../../platform/database/index.js';
import { DEFAULT_LIMIT, DeletedView, decodeCursor, type Page, pageOf } from '../../platform/dto/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { HostedTargets } from '../hosts/index.js';
import {
  CreateSiteToken,
  ListSiteTokens,
  NewSiteTokenView,
  SiteTokenId,
  SiteTokenPage,
  SiteTokenView,
} from './access.dto.js';
import { auditTargetOf } from './access.service.js';
import { AccessPolicies } from './policies/access-policies.js';
import { newAccessToken } from './tokens/access-tokens.js';
import { AccessTokensStore, type TokenRow } from './tokens/access-tokens.store.js';

const WEEK_SECONDS = 7 * 86_400;

/** Tokens with which programs open a site. */
@Injectable()
export class AccessTokensService {
  constructor(
    private readonly database: Database,
    private readonly targets: HostedTargets,
    private readonly tokens: AccessTokensStore,
    private readonly policies: AccessPolicies,
    private readonly audit: Audit,
  ) {}

  @Action({
    name: 'site_token_list',
    route: 'GET /api/site-access/:siteId/tokens',
    on: 'site_id',
    summary: 'List the tokens with which programs open a site',
    effect: 'read',
    permission: 'site.read',
    input: ListSiteTokens,
    output: SiteTokenPage,
  })
  async list(
    actor: Actor,
    { site_id, limit = DEFAULT_LIMIT, cursor }: ListSiteTokens,
  ): Promise<Page<SiteTokenView>> {
    const target = await this.targets.require(actor, 'site.read', 'site', site_id);
    const [after] = decodeCursor(cursor, 'id');
    const rows = await this.tokens.list(target, after, limit + 1);
    return pageOf(rows, limit, viewOf, row => [row.id]);
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
    output: NewSiteTokenView,
    commitsAnswer: true,
  })
  async create(
    actor: Actor,
    { site_id, name, expires_in = WEEK_SECONDS }: CreateSiteToken,
  ): Promise<NewSiteTokenView> {
    const target = await this.targets.require(actor, 'hosting.access', 'site', site_id);
    const token = newAccessToken();
    const row = { id: newId(), hash: hashSecret(token), name, created_by: actor.id, seconds: expires_in };
    return this.database.transaction(async unit => {
      const added = await this.tokens.add(unit, row, target);
      const details = { token_id: row.id, name, expires_at: iso(added.expires_at) };
      await this.audit.record(unit, actor, 'site_token.create', auditTargetOf(target), details);
      return unit.answers({ ...viewOf(added), token });
    });
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
  async revoke(actor: Actor, { site_id, id }: SiteTokenId): Promise<DeletedView> {
    const target = await this.targets.require(actor, 'site.publish', 'site', site_id);
    await this.database.transaction(async unit => {
      if (!(await this.tokens.remove(unit, target, id))) throw new NotFound('No such token');
      await this.audit.record(unit, actor, 'site_token.revoke', auditTargetOf(target), { token_id: id });
      await this.policies.changed(unit, target.id);
    });
    return DeletedView.of(id);
  }
}

function viewOf({ id, name, created_by, created_at, expires_at }: TokenRow): SiteTokenView {
  return { id, name, created_by, created_at: iso(created_at), expires_at: iso(expires_at) };
}
