import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';
import { newId } from '../../platform/database/index.js';

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

  /** When it was shown that the address is this person's; null until then. */
  @Property({ type: 'timestamptz', nullable: true })
  emailVerifiedAt: Date | null = null;

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

  verifyEmail(): void {
    this.emailVerifiedAt ??= new Date();
  }

  moveTo(email: string, verified: boolean): void {
    this.email = User.normalizeEmail(email);
    this.emailVerifiedAt = verified ? new Date() : null;
  }

  static normalizeEmail(email: string): string {
    return email.trim().toLowerCase();
  }
}
