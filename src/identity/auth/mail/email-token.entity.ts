import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';

/** What a link sent by mail is good for. */
export type EmailTokenPurpose = 'reset' | 'verify' | 'email';

/** A link that was sent to a person. It is deleted by its use. */
@Entity({ tableName: 'email_token' })
export class EmailToken {
  /** SHA-256 of the token. */
  @PrimaryKey({ type: 'text' })
  hash: string;

  @Property({ type: 'uuid' })
  userId: string;

  @Property({ type: 'text' })
  purpose: EmailTokenPurpose;

  /** The address that an account moves to by it. */
  @Property({ type: 'text', nullable: true })
  email: string | null = null;

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();

  @Property({ type: 'timestamptz' })
  expiresAt: Date;

  constructor(hash: string, userId: string, purpose: EmailTokenPurpose, lifeSeconds: number) {
    this.hash = hash;
    this.userId = userId;
    this.purpose = purpose;
    this.expiresAt = new Date(Date.now() + lifeSeconds * 1000);
  }
}
