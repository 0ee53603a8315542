import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';
import { hashSecret, type OrganizationRole, randomSecret } from '../../platform/access/index.js';
import { newId } from '../../platform/database/index.js';
import { Conflict, Gone } from '../../platform/errors/index.js';
import { User } from '../accounts/index.js';

export const INVITATION_STATUSES = ['pending', 'accepted', 'declined', 'revoked'] as const;
export type InvitationStatus = (typeof INVITATION_STATUSES)[number];

const LIFE_MS = 7 * 86_400_000;

/** An offer to join an organization, made to an e-mail address. Everyone with its link can read and decline it. */
@Entity({ tableName: 'invitation' })
export class Invitation {
  @PrimaryKey({ type: 'uuid' })
  id: string = newId();

  @Property({ type: 'uuid' })
  organizationId: string;

  /** Lower case. */
  @Property({ type: 'text' })
  email: string;

  @Property({ type: 'text' })
  role: OrganizationRole;

  /** SHA-256 of the token in its link. */
  @Property({ type: 'text' })
  tokenHash: string;

  @Property({ type: 'text' })
  status: InvitationStatus = 'pending';

  @Property({ type: 'uuid' })
  invitedBy: string;

  @Property({ type: 'uuid', nullable: true })
  acceptedBy: string | null = null;

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();

  @Property({ type: 'timestamptz', onUpdate: () => new Date() })
  updatedAt: Date = new Date();

  @Property({ type: 'timestamptz' })
  expiresAt: Date;

  constructor(fields: { organizationId: string; email: string; role: OrganizationRole; invitedBy: string }) {
    this.organizationId = fields.organizationId;
    this.email = User.normalizeEmail(fields.email);
    this.role = fields.role;
    this.invitedBy = fields.invitedBy;
  }

  /** Makes a new link, which is returned this once, and starts the time anew; an earlier link is void. */
  renewLink(now: Date): string {
    this.requirePending();
    const token = randomSecret();
    this.tokenHash = hashSecret(token);
    this.expiresAt = new Date(now.getTime() + LIFE_MS);
    return token;
  }

  accept(userId: string, now: Date): void {
    this.requireOpen(now);
    this.status = 'accepted';
    this.acceptedBy = userId;
  }

  decline(now: Date): void {
    this.requireOpen(now);
    this.status = 'declined';
  }

  revoke(): void {
    this.requirePending();
    this.status = 'revoked';
  }

  /** `now` is the time of the database, here as in the other methods. */
  requireOpen(now: Date): void {
    this.requirePending();
    if (this.expiresAt <= now) throw new Gone('This invitation has expired; ask for a new one');
  }

  private requirePending(): void {
    if (this.status === 'revoked') throw new Gone('This invitation was withdrawn');
    if (this.status !== 'pending') throw new Conflict(`This invitation was ${this.status} already`);
  }
}
