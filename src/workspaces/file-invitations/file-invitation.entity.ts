import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';
import { newId } from '../../platform/database/index.js';
import { Conflict, Gone } from '../../platform/errors/index.js';

export const INVITED_ROLES = ['viewer', 'editor'] as const;
export type InvitedRole = (typeof INVITED_ROLES)[number];

const LIFE_MS = 14 * 86_400_000;

/**
 * A way to one path of a workspace for one person. They become no member of anything: whoever accepts has that path, and
 * only for as long as whoever invited them could use it that way themselves.
 */
@Entity({ tableName: 'file_invitation' })
export class FileInvitation {
  @PrimaryKey({ type: 'uuid' })
  id: string = newId();

  @Property({ type: 'uuid' })
  workspaceId: string;

  /** Normalized; empty for the whole workspace. */
  @Property({ type: 'text' })
  path: string;

  /** Lower case. */
  @Property({ type: 'text' })
  email: string;

  @Property({ type: 'text' })
  role: InvitedRole;

  /** SHA-256 of the token in its link. */
  @Property({ type: 'text' })
  tokenHash: string;

  @Property({ type: 'uuid' })
  invitedBy: string;

  @Property({ type: 'uuid', nullable: true })
  acceptedBy: string | null = null;

  @Property({ type: 'timestamptz', nullable: true })
  acceptedAt: Date | null = null;

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();

  /** Until when it can be accepted. */
  @Property({ type: 'timestamptz' })
  expiresAt: Date = new Date(Date.now() + LIFE_MS);

  constructor(
    fields: Pick<FileInvitation, 'workspaceId' | 'path' | 'email' | 'role' | 'tokenHash' | 'invitedBy'>,
  ) {
    Object.assign(this, fields);
  }

  accept(userId: string): void {
    this.requireOpen();
    this.acceptedBy = userId;
    this.acceptedAt = new Date();
  }

  requireOpen(): void {
    if (this.acceptedBy) throw new Conflict('This invitation was accepted already');
    if (this.expiresAt <= new Date()) throw new Gone('This invitation has expired; ask for a new one');
  }
}
