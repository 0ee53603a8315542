import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';
import { hashSecret } from '../../platform/access/index.js';
import { newId } from '../../platform/database/index.js';
import { Conflict } from '../../platform/errors/index.js';

const PREFIX = 'atl_';
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

/** Whether `key` is one that we may have made; a mistyped one is told apart without asking the database. */
export function isWellFormedKey(key: string): boolean {
  const [, random, sum] = KEY.exec(key) ?? [];
  return random !== undefined && checksum(random) === sum;
}

/** Whose a key is: a person's, or a service account's. */
export type KeyOwner = { userId: string } | { serviceAccountId: string };

/** What narrows a key below what its owner may do. */
export interface KeyLimits {
  organizationId: string | null;
  scopes: string[] | null;
  workspaceIds: string[] | null;
  expiresAt: Date | null;
}

/** A key for programs. Its secret is shown once; only a hash is kept. */
@Entity({ tableName: 'api_key' })
export class ApiKey implements KeyLimits {
  @PrimaryKey({ type: 'uuid' })
  id: string = newId();

  @Property({ type: 'uuid', nullable: true })
  userId: string | null;

  @Property({ type: 'uuid', nullable: true })
  serviceAccountId: string | null;

  @Property({ type: 'uuid' })
  createdBy: string;

  @Property({ type: 'text' })
  name: string;

  @Property({ type: 'text' })
  hash: string;

  /** What is left to recognise it by: `atl_Ab3f…x9Yz`. */
  @Property({ type: 'text' })
  hint: string;

  /** The one organization it sees; null for all of its owner's. */
  @Property({ type: 'uuid', nullable: true })
  organizationId: string | null = null;

  /** null: all that its owner may do. */
  @Property({ type: 'array', columnType: 'text[]', nullable: true })
  scopes: string[] | null = null;

  /** null: every workspace that its owner sees. */
  @Property({ type: 'array', columnType: 'uuid[]', nullable: true })
  workspaceIds: string[] | null = null;

  @Property({ type: 'timestamptz', nullable: true })
  expiresAt: Date | null = null;

  @Property({ type: 'timestamptz', nullable: true })
  lastUsedAt: Date | null = null;

  @Property({ type: 'timestamptz', nullable: true })
  revokedAt: Date | null = null;

  /** The key that took its place, while this one still works for a while. */
  @Property({ type: 'uuid', nullable: true })
  replacedBy: string | null = null;

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();

  constructor(owner: KeyOwner, createdBy: string, name: string, secret: { hash: string; hint: string }) {
    this.userId = 'userId' in owner ? owner.userId : null;
    this.serviceAccountId = 'serviceAccountId' in owner ? owner.serviceAccountId : null;
    this.createdBy = createdBy;
    this.name = name;
    this.hash = secret.hash;
    this.hint = secret.hint;
  }

  limit({ organizationId, scopes, workspaceIds, expiresAt }: KeyLimits): this {
    this.organizationId = organizationId;
    this.scopes = scopes;
    this.workspaceIds = workspaceIds;
    this.expiresAt = expiresAt;
    return this;
  }

  revoke(): void {
    this.revokedAt ??= new Date();
  }

  /** Gives way to `successor`, at once or after some seconds in which both work; once. */
  giveWayTo(successor: ApiKey, overlapSeconds: number): void {
    if (this.replacedBy !== null)
      throw new Conflict('This key has been rotated already; rotate the one that took its place');
    this.replacedBy = successor.id;
    const end = new Date(Date.now() + overlapSeconds * 1000);
    if (this.expiresAt === null || end < this.expiresAt) this.expiresAt = end;
  }
}
