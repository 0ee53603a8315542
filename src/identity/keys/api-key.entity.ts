import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';
import { newId } from '../../platform/database/database.js';

/** A key for programs. Its secret is shown once; only a hash is kept. */
@Entity({ tableName: 'api_key' })
export class ApiKey {
  @PrimaryKey({ type: 'uuid' })
  id: string = newId();

  @Property({ type: 'uuid' })
  userId: string;

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

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();

  constructor(userId: string, name: string, secret: { hash: string; hint: string }) {
    this.userId = userId;
    this.name = name;
    this.hash = secret.hash;
    this.hint = secret.hint;
  }

  revoke(): void {
    this.revokedAt ??= new Date();
  }
}
