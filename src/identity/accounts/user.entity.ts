import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';
import { hash, verify } from '@node-rs/argon2';
import { newId } from '../../platform/database/index.js';

/** What exists once per installation. */
@Entity({ tableName: 'installation' })
export class Installation {
  @PrimaryKey({ type: 'int' })
  id = 1;

  /** SHA-256 of the token that the first registration must show; null once it is used, or not needed. */
  @Property({ type: 'text', nullable: true })
  setupTokenHash: string | null = null;

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();
}

/** Argon2id (the library's default) with 19 MiB, 2 passes, 1 lane: the first recommendation of OWASP's Password Storage Cheat Sheet. */
const OPTIONS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

let decoy: Promise<string> | undefined;

/** The hash to store, in PHC string format. */
export function hashPassword(password: string): Promise<string> {
  return hash(password, OPTIONS);
}

/** Whether `password` is the one that was hashed. Takes as long for an account that does not exist (no hash). */
export async function passwordMatches(stored: string | undefined, password: string): Promise<boolean> {
  decoy ??= hashPassword('decoy');
  const matches = await verify(stored ?? (await decoy), password);
  return stored !== undefined && matches;
}

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
