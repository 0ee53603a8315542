import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/index.js';
import { ExecTokens } from '../../platform/actions/index.js';
import { Audit } from '../../platform/audit/index.js';
import { Database, databaseTime, iso, type UnitOfWork } from '../../platform/database/index.js';
import type { Page, PageInput } from '../../platform/dto/index.js';
import { Conflict, Forbidden, Invalid } from '../../platform/errors/index.js';
import type { CreatedKeyView, KeyChanges, KeyView } from './keys.dto.js';
import { type KeyLimits, type KeyOwner, type KeyRow, KeysStore, keyView, makeKey } from './keys.store.js';

/** The keys of one owner; the caller has checked who may ask. */
@Injectable()
export class Keyring {
  constructor(
    private readonly database: Database,
    private readonly keys: KeysStore,
    private readonly audit: Audit,
    private readonly execTokens: ExecTokens,
  ) {}

  list(owner: KeyOwner, input: PageInput): Promise<Page<KeyView>> {
    return this.keys.list(owner, input);
  }

  async read(owner: KeyOwner, id: string): Promise<KeyView> {
    return keyView(await this.keys.read(owner, id));
  }

  async issue(actor: Actor, owner: KeyOwner, name: string, limits: KeyLimits): Promise<CreatedKeyView> {
    refuseBroader(actor, limits);
    return this.database.transaction(async unit => {
      const expires_at = readExpiry(limits.expires_at, await databaseTime(unit));
      return this.insert(unit, actor, owner, { name: name.trim(), ...limits, expires_at }, 'key.create');
    });
  }

  async change(actor: Actor, owner: KeyOwner, id: string, changes: KeyChanges): Promise<KeyView> {
    const { name, scopes, workspace_ids, expires_at } = changes;
    return this.database.transaction(async unit => {
      const { name: before } = await this.keys.lock(unit, owner, id);
      const key = await this.keys.update(unit, id, {
        name: name?.trim() ?? before,
        scopes,
        workspace_ids,
        expires_at: expires_at === undefined ? undefined : readExpiry(expires_at, await databaseTime(unit)),
      });
      refuseBroader(actor, key);
      await this.record(unit, actor, 'key.update', key);
      return keyView(key);
    });
  }

  /** A new key with the same limits; the old one works on for `overlapSeconds`. */
  async rotate(actor: Actor, owner: KeyOwner, id: string, overlapSeconds: number): Promise<CreatedKeyView> {
    return this.database.transaction(async unit => {
      const old = await this.keys.lock(unit, owner, id);
      refuseBroader(actor, old);
      if (old.replaced_by !== null)
        throw new Conflict('This key has been rotated already; rotate the one that took its place');
      const { name, organization_id, scopes, workspace_ids, expires_at } = old;
      const same = { name, organization_id, scopes, workspace_ids, expires_at };
      const created = await this.insert(unit, actor, owner, same, 'key.rotate', { replaces: id });
      const now = await databaseTime(unit);
      const overlapEnd = new Date(now.getTime() + overlapSeconds * 1000).toISOString();
      const end = expires_at !== null && iso(expires_at) <= overlapEnd ? expires_at : overlapEnd;
      await this.keys.update(unit, id, { replaced_by: created.id, expires_at: end });
      return created;
    });
  }

  async revoke(actor: Actor, owner: KeyOwner, id: string): Promise<void> {
    await this.database.transaction(async unit => {
      const key = await this.keys.lock(unit, owner, id);
      await this.keys.update(unit, id, { revoked_at: iso(await databaseTime(unit)) });
      await this.execTokens.revokeFrom(unit, id);
      await this.record(unit, actor, 'key.revoke', key);
    });
  }

  private async insert(
    unit: UnitOfWork,
    actor: Actor,
    owner: KeyOwner,
    fields: KeyLimits & { name: string },
    action: string,
    details?: object,
  ): Promise<CreatedKeyView> {
    const { secret, hash, hint } = makeKey();
    const key = await this.keys.insert(unit, owner, { ...fields, created_by: actor.id, hash, hint });
    await this.record(unit, actor, action, key, details);
    return unit.answers({ ...keyView(key), api_key: secret });
  }

  private record(unit: UnitOfWork, actor: Actor, action: string, key: KeyRow, more?: object): Promise<void> {
    const { id, organization_id, name, scopes, service_account_id } = key;
    const target = { type: 'api_key', id, organization_id };
    return this.audit.record(unit, actor, action, target, { name, scopes, service_account_id, ...more });
  }
}

/** A time after `now`, which is the database's; null: never. */
function readExpiry(expiresAt: string | null | undefined, now: Date): string | null {
  if (expiresAt === null || expiresAt === undefined) return null;
  if (Date.parse(expiresAt) <= now.getTime()) throw new Invalid('expires_at must be in the future');
  return iso(expiresAt);
}

/** A limited credential makes no key that may do more than itself. */
function refuseBroader({ credential }: Actor, limits: Pick<KeyLimits, 'scopes' | 'workspace_ids'>): void {
  const within = (own: readonly string[] | null, asked: string[] | null) =>
    own === null || asked?.every(item => own.includes(item)) === true;
  if (!within(credential.scopes, limits.scopes))
    throw new Forbidden('A key cannot have scopes that yours has not');
  if (!within(credential.workspace_ids, limits.workspace_ids))
    throw new Forbidden('A key cannot see workspaces that yours does not');
}
