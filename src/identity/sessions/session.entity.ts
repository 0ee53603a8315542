import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';
import { newId } from '../../platform/database/index.js';

/** A refresh token, usable once. A second use of one is taken for theft and ends its session. */
@Entity({ tableName: 'refresh_token' })
export class RefreshToken {
  /** SHA-256 of the token. */
  @PrimaryKey({ type: 'text' })
  hash: string;

  @Property({ type: 'uuid' })
  sessionId: string;

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();

  @Property({ type: 'timestamptz', nullable: true })
  usedAt: Date | null = null;

  constructor(hash: string, sessionId: string) {
    this.hash = hash;
    this.sessionId = sessionId;
  }
}

/** One sign-in of a person; lives as long as it is refreshed. */
@Entity({ tableName: 'session' })
export class Session {
  @PrimaryKey({ type: 'uuid' })
  id: string = newId();

  @Property({ type: 'uuid' })
  userId: string;

  @Property({ type: 'text', nullable: true })
  userAgent: string | null;

  @Property({ type: 'text', nullable: true })
  address: string | null;

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();

  @Property({ type: 'timestamptz' })
  lastUsedAt: Date = new Date();

  @Property({ type: 'timestamptz' })
  expiresAt: Date;

  @Property({ type: 'timestamptz', nullable: true })
  revokedAt: Date | null = null;

  constructor(userId: string, from: SignInSource, lifeSeconds: number) {
    this.userId = userId;
    this.userAgent = from.userAgent?.slice(0, 500) ?? null;
    this.address = from.address;
    this.extend(lifeSeconds);
  }

  get isLive(): boolean {
    return this.revokedAt === null && this.expiresAt > new Date();
  }

  extend(lifeSeconds: number): void {
    this.lastUsedAt = new Date();
    this.expiresAt = new Date(Date.now() + lifeSeconds * 1000);
  }

  revoke(): void {
    this.revokedAt ??= new Date();
  }
}

/** Where a sign-in came from. */
export interface SignInSource {
  userAgent: string | undefined;
  address: string;
}
