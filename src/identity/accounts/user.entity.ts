import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';
import { newId } from '../../platform/database/database.js';

/** A person. */
@Entity({ tableName: 'user' })
export class User {
  @PrimaryKey({ type: 'uuid' })
  id: string = newId();

  /** Lower case; unique. */
  @Property({ type: 'text' })
  email: string;

  @Property({ type: 'text' })
  name: string;

  /** Argon2id, in PHC string format. */
  @Property({ type: 'text' })
  passwordHash: string;

  /** The first account, which owns the installation. */
  @Property({ type: 'boolean' })
  installationOwner: boolean;

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();

  @Property({ type: 'timestamptz', onUpdate: () => new Date() })
  updatedAt: Date = new Date();

  constructor(fields: { email: string; name: string; passwordHash: string; installationOwner: boolean }) {
    this.email = User.normalizeEmail(fields.email);
    this.name = fields.name;
    this.passwordHash = fields.passwordHash;
    this.installationOwner = fields.installationOwner;
  }

  static normalizeEmail(email: string): string {
    return email.trim().toLowerCase();
  }
}
