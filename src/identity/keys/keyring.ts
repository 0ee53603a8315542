import { LockMode } from '@mikro-orm/core';
import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { ExecTokens } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, iso, isoOrNull, type Row, type UnitOfWork } from '../../platform/database/index.js';
import { decodeCursor, type Page, pageOf } from '../../platform/dto/index.js';
import { Forbidden, Invalid, NotFound } from '../../platform/errors/index.js';
import { ApiKey, type KeyLimits, type KeyOwner, makeKey } from './api-key.entity.js';
import type { CreatedKeyView, KeyChanges, KeyView } from './keys.dto.js';

/** What a new key is asked to be. */
interface KeyRequest {
  name: string;
  limits: KeyLimits;
}

/** The keys of one owner; who may ask is decided by whoever calls. */
@Injectable()
export class Keyring {
  constructor(
    private readonly database: Database,
    private readonly audit: Audit,
    private readonly execTokens: ExecTokens,
  ) {}

  async list(owner: KeyOwner, limit: number, cursor: string | undefined): Promise<Page<KeyView>> {
    const [after] = decodeCursor(cursor, 'id');
    const query = this.liveKeysOf(owner)
      .orderBy('id')
      .limit(limit + 1);
    const rows = await (after ? query.where('id', '>', after) : query).execute();
    return pageOf(rows, limit, keyView, row => [row.id]);
  }

  async read(owner: KeyOwner, id: string): Promise<KeyView> {
    const row = await this.liveKeysOf(owner).where('id', '=', id).executeTakeFirst();
    if (!row) throw new NotFound('No such key');
    return keyView(row);
  }

  async issue(actor: Actor, owner: KeyOwner, { name, limits }: KeyRequest): Promise<CreatedKeyView> {
    refuseBroader(actor, limits);
    const made = makeKey();
    const key = new ApiKey(owner, actor.id, name.trim(), made).limit(limits);
    return this.database.transaction(async unit => {
      unit.add(key);
      await this.record(unit, actor, 'key.create', key);
      return unit.answers({ ...entityView(key), api_key: made.secret });
    });
  }

  async change(actor: Actor, owner: KeyOwner, id: string, changes: KeyChanges): Promise<KeyView> {
    const { name, scopes, workspace_ids, expires_at } = changes;
    return this.database.transaction(async unit => {
      const key = await this.hold(unit, owner, id);
      key.name = name?.trim() ?? key.name;
      key.limit({
        organizationId: key.organizationId,
        scopes: scopes === undefined ? key.scopes : scopes,
        workspaceIds: workspace_ids === undefined ? key.workspaceIds : workspace_ids,
        expiresAt: expires_at === undefined ? key.expiresAt : readExpiry(expires_at),
      });
      refuseBroader(actor, key);
      await this.record(unit, actor, 'key.update', key);
      await unit.flush();
      return entityView(key);
    });
  }

  /** A new key with the same limits; the old one works on for `overlapSeconds`. */
  async rotate(actor: Actor, owner: KeyOwner, id: string, overlapSeconds: number): Promise<CreatedKeyView> {
    const made = makeKey();
    return this.database.transaction(async unit => {
      const old = await this.hold(unit, owner, id);
      refuseBroader(actor, old);
      const key = unit.add(new ApiKey(owner, actor.id, old.name, made).limit(old));
      old.giveWayTo(key, overlapSeconds);
      await this.record(unit, actor, 'key.rotate', key, { replaces: old.id });
      await unit.flush();
      return unit.answers({ ...entityView(key), api_key: made.secret });
    });
  }

  async revoke(actor: Actor, owner: KeyOwner, id: string): Promise<void> {
    await this.database.transaction(async unit => {
      const key = await this.hold(unit, owner, id);
      key.revoke();
      await this.execTokens.revokeFrom(unit, id);
      await this.record(unit, actor, 'key.revoke', key);
    });
  }

  /** The key, held until the transaction ends. */
  private async hold(unit: UnitOfWork, owner: KeyOwner, id: string): Promise<ApiKey> {
    const key = await unit.entities.findOne(
      ApiKey,
      { ...owner, id, revokedAt: null },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    if (!key) throw new NotFound('No such key');
    return key;
  }

  private liveKeysOf(owner: KeyOwner) {
    const keys = this.database.tables().selectFrom('api_key').selectAll().where('revoked_at', 'is', null);
    return 'userId' in owner
      ? keys.where('user_id', '=', owner.userId)
      : keys.where('service_account_id', '=', owner.serviceAccountId);
  }

  private record(
    unit: UnitOfWork,
    actor: Actor,
    action: string,
    key: ApiKey,
    details: object = {},
  ): Promise<void> {
    return this.audit.record(unit, actor, {
      action,
      target_type: 'api_key',
      target_id: key.id,
      organization_id: key.organizationId,
      details: { name: key.name, scopes: key.scopes, service_account_id: key.serviceAccountId, ...details },
    });
  }
}

/** A time in the future; null: never. */
export function readExpiry(expiresAt: string | null | undefined): Date | null {
  if (expiresAt === null || expiresAt === undefined) return null;
  if (Date.parse(expiresAt) <= Date.now()) throw new Invalid('expires_at must be in the future');
  return new Date(expiresAt);
}

/** A limited credential makes no key that may do more than itself. */
function refuseBroader({ credential }: Actor, limits: KeyLimits): void {
  const within = (own: readonly string[] | null, asked: string[] | null) =>
    own === null || asked?.every(item => own.includes(item)) === true;
  if (!within(credential.scopes, limits.scopes))
    throw new Forbidden('A key cannot have scopes that yours has not');
  if (!within(credential.workspace_ids, limits.workspaceIds))
    throw new Forbidden('A key cannot see workspaces that yours does not');
}

function keyView(row: Row<'api_key'>): KeyView {
  const { id, name, hint, organization_id, scopes, workspace_ids, replaced_by } = row;
  return {
    id,
    name,
    hint,
    organization_id,
    scopes,
    workspace_ids,
    replaced_by,
    expires_at: isoOrNull(row.expires_at),
    last_used_at: isoOrNull(row.last_used_at),
    created_at: iso(row.created_at),
  };
}

function entityView(key: ApiKey): KeyView {
  return {
    id: key.id,
    name: key.name,
    hint: key.hint,
    organization_id: key.organizationId,
    scopes: key.scopes,
    workspace_ids: key.workspaceIds,
    replaced_by: key.replacedBy,
    expires_at: isoOrNull(key.expiresAt),
    last_used_at: isoOrNull(key.lastUsedAt),
    created_at: iso(key.createdAt),
  };
}
