import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { Injectable } from '@nestjs/common';
import { hashSecret, API_KEY_PREFIX as PREFIX } from '../../platform/access/index.js';
import { Database, newId, type Row, type UnitOfWork } from '../../platform/database/index.js';
import { type Page, type PageInput, pageById, toView } from '../../platform/dto/index.js';
import { NotFound } from '../../platform/errors/index.js';
import { KeyView } from './keys.dto.js';

const KEY = /^atl_([A-Za-z0-9_-]{43})_([0-9a-f]{8})$/;

/** The first time and the only time that a key's secret is at hand. */
interface NewKey {
  secret: string;
  hash: string;
  hint: string;
}

const checksum = (random: string): string =>
  crc32(PREFIX + random)
    .toString(16)
    .padStart(8, '0');

/** Makes a key: `atl_<256 random bits>_<CRC-32>`, the form that secret scanners can find and check. */
export function makeKey(): NewKey {
  const random = randomBytes(32).toString('base64url');
  const secret = `${PREFIX}${random}_${checksum(random)}`;
  return { secret, hash: hashSecret(secret), hint: `${PREFIX}${random.slice(0, 4)}…${secret.slice(-4)}` };
}

/** Whether `key` is one that we may have made; a mistyped one is recognized without asking the database. */
export function isWellFormedKey(key: string): boolean {
  const [, random, sum] = KEY.exec(key) ?? [];
  return random !== undefined && checksum(random) === sum;
}

/** Whose a key is: a person's, or a service account's. */
export type KeyOwner = Pick<KeyRow, 'user_id'> | Pick<KeyRow, 'service_account_id'>;

/** What narrows a key below what its owner may do. */
export type KeyLimits = Pick<KeyRow, 'organization_id' | 'scopes' | 'workspace_ids' | 'expires_at'>;

/**
 * A key for programs. Its secret is shown once; only a hash is kept, and a `hint` to recognise it by. No organization: all
 * of its owner's; no scopes: all that its owner may do; no workspaces: all that its owner sees. `replaced_by` is its
 * successor, while it still works for a while.
 */
export type KeyRow = Row<'api_key'>;

/** The keys that are not revoked. */
@Injectable()
export class KeysStore {
  constructor(private readonly database: Database) {}

  list(owner: KeyOwner, input: PageInput): Promise<Page<KeyView>> {
    return pageById(this.keysOf(this.database, owner), input, keyView);
  }

  async read(owner: KeyOwner, id: string): Promise<KeyRow> {
    return required(await this.keysOf(this.database, owner).where('id', '=', id).executeTakeFirst());
  }

  /** The key, locked until the transaction ends. */
  async lock(unit: UnitOfWork, owner: KeyOwner, id: string): Promise<KeyRow> {
    return required(await this.keysOf(unit, owner).where('id', '=', id).forUpdate().executeTakeFirst());
  }

  insert(
    unit: UnitOfWork,
    owner: KeyOwner,
    fields: KeyLimits & Pick<KeyRow, 'created_by' | 'name' | 'hash' | 'hint'>,
  ): Promise<KeyRow> {
    const row = { id: newId(), ...owner, ...fields, created_at: new Date().toISOString() };
    return unit.tables().insertInto('api_key').values(row).returningAll().executeTakeFirstOrThrow();
  }

  update(
    unit: UnitOfWork,
    id: string,
    changes: Partial<KeyLimits & Pick<KeyRow, 'name' | 'replaced_by' | 'revoked_at'>>,
  ): Promise<KeyRow> {
    const query = unit.tables().updateTable('api_key').set(changes).where('id', '=', id);
    return query.returningAll().executeTakeFirstOrThrow();
  }

  private keysOf(within: Pick<Database, 'tables'>, owner: KeyOwner) {
    const keys = within.tables().selectFrom('api_key').selectAll().where('revoked_at', 'is', null);
    return 'user_id' in owner
      ? keys.where('user_id', '=', owner.user_id)
      : keys.where('service_account_id', '=', owner.service_account_id);
  }
}

function required(key: KeyRow | undefined): KeyRow {
  if (!key) throw new NotFound('No such key');
  return key;
}

export const keyView = (row: KeyRow): KeyView => toView(KeyView, row);
