import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { Action, ExecTokens } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, iso } from '../../platform/database/index.js';
import { DeletedView } from '../../platform/dto/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { type HostedTarget, HostedTargets } from '../hosts/index.js';
import { SiteExecTokenList, SiteId, SiteTokenId } from './access.dto.js';
import { auditTargetOf } from './access.service.js';

/** The tokens by which a site runs the actions that it offers. They never leave the service. */
@Injectable()
export class SiteExecTokensService {
  constructor(
    private readonly database: Database,
    private readonly targets: HostedTargets,
    private readonly tokens: ExecTokens,
    private readonly audit: Audit,
  ) {}

  @Action({
    name: 'site_exec_token_list',
    route: 'GET /api/site-access/:siteId/exec-tokens',
    on: 'site_id',
    summary: 'List the tokens by which a site runs actions for those who look at it',
    effect: 'read',
    permission: 'site.read',
    input: SiteId,
    output: SiteExecTokenList,
  })
  async list(actor: Actor, { site_id }: SiteId): Promise<SiteExecTokenList> {
    const target = await this.targets.require(actor, 'site.read', 'site', site_id);
    const rows = await this.tokens.listFor(programOf(target));
    return {
      items: rows.map(
        ({ id, actor: { id: actor_id, name: actor_name }, actions, created_at, expires_at }) => ({
          ...{ id, actions, actor_id, actor_name },
          ...{ created_at: iso(created_at), expires_at: iso(expires_at) },
        }),
      ),
    };
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
  async revoke(actor: Actor, { site_id, id }: SiteTokenId): Promise<DeletedView> {
    const target = await this.targets.require(actor, 'site.publish', 'site', site_id);
    await this.database.transaction(async unit => {
      if (!(await this.tokens.revoke(unit, programOf(target), id))) throw new NotFound('No such token');
      await this.audit.record(unit, actor, 'site_exec_token.revoke', auditTargetOf(target), { token_id: id });
    });
    return DeletedView.of(id);
  }
}

const programOf = ({ kind, id }: HostedTarget) => ({ kind, id });
