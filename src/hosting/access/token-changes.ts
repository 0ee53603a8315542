import { Injectable } from '@nestjs/common';
import { type Actor, hashSecret } from '../../platform/access/index.js';
import { ExecTokens } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, iso, newId } from '../../platform/database/index.js';
import { DEFAULT_LIMIT, DeletedView, decodeCursor, type Page, pageOf } from '../../platform/dto/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { HOSTED_PERMISSIONS, type HostedKind, HostedTargets } from '../hosts/index.js';
import type { AccessTokenView, HostedExecTokenList, NewAccessTokenView, TokenInput } from './access.dto.js';
import { auditTargetOf } from './access-changes.js';
import { AccessPolicies } from './policies/access-policies.js';
import { newAccessToken } from './tokens/access-tokens.js';
import { AccessTokensStore, type TokenRow } from './tokens/access-tokens.store.js';

const WEEK_SECONDS = 7 * 86_400;

/** Tokens of sites and servers: those with which programs open them, and those by which they run actions. */
@Injectable()
export class TokenChanges {
  constructor(
    private readonly database: Database,
    private readonly targets: HostedTargets,
    private readonly tokens: AccessTokensStore,
    private readonly execTokens: ExecTokens,
    private readonly policies: AccessPolicies,
    private readonly audit: Audit,
  ) {}

  async list(
    actor: Actor,
    kind: HostedKind,
    id: string,
    { limit = DEFAULT_LIMIT, cursor }: { limit?: number; cursor?: string },
  ): Promise<Page<AccessTokenView>> {
    const target = await this.targets.require(actor, HOSTED_PERMISSIONS[kind].read, kind, id);
    const [after] = decodeCursor(cursor, 'id');
    const rows = await this.tokens.list(target, after, limit + 1);
    return pageOf(rows, limit, viewOf, row => [row.id]);
  }

  async create(
    actor: Actor,
    kind: HostedKind,
    id: string,
    { name, expires_in = WEEK_SECONDS }: TokenInput,
  ): Promise<NewAccessTokenView> {
    const target = await this.targets.require(actor, HOSTED_PERMISSIONS[kind].open, kind, id);
    const token = newAccessToken();
    const row = { id: newId(), hash: hashSecret(token), name, created_by: actor.id, seconds: expires_in };
    return this.database.transaction(async unit => {
      const added = await this.tokens.add(unit, row, target);
      const details = { token_id: row.id, name, expires_at: iso(added.expires_at) };
      await this.audit.record(unit, actor, `${kind}_token.create`, auditTargetOf(target), details);
      return unit.answers({ ...viewOf(added), token });
    });
  }

  /** 404 where there is none. */
  async revoke(actor: Actor, kind: HostedKind, id: string, tokenId: string): Promise<DeletedView> {
    const target = await this.targets.require(actor, HOSTED_PERMISSIONS[kind].manage, kind, id);
    await this.database.transaction(async unit => {
      if (!(await this.tokens.remove(unit, target, tokenId))) throw new NotFound('No such token');
      const details = { token_id: tokenId };
      await this.audit.record(unit, actor, `${kind}_token.revoke`, auditTargetOf(target), details);
      await this.policies.changed(unit, target.id);
    });
    return DeletedView.of(tokenId);
  }

  async listExec(actor: Actor, kind: HostedKind, id: string): Promise<HostedExecTokenList> {
    await this.targets.require(actor, HOSTED_PERMISSIONS[kind].read, kind, id);
    const rows = await this.execTokens.listFor({ kind, id });
    return {
      items: rows.map(({ id: tokenId, actor: { id: actor_id, name: actor_name }, actions, ...times }) => ({
        id: tokenId,
        actions,
        actor_id,
        actor_name,
        created_at: iso(times.created_at),
        expires_at: iso(times.expires_at),
      })),
    };
  }

  /** 404 where there is none. */
  async revokeExec(actor: Actor, kind: HostedKind, id: string, tokenId: string): Promise<DeletedView> {
    const target = await this.targets.require(actor, HOSTED_PERMISSIONS[kind].manage, kind, id);
    await this.database.transaction(async unit => {
      if (!(await this.execTokens.revoke(unit, { kind, id }, tokenId))) throw new NotFound('No such token');
      const details = { token_id: tokenId };
      await this.audit.record(unit, actor, `${kind}_exec_token.revoke`, auditTargetOf(target), details);
    });
    return DeletedView.of(tokenId);
  }
}

function viewOf({ id, name, created_by, created_at, expires_at }: TokenRow): AccessTokenView {
  return { id, name, created_by, created_at: iso(created_at), expires_at: iso(expires_at) };
}
