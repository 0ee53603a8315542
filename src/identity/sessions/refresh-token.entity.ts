import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';

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
