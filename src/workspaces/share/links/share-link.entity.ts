import type { Opt } from '@mikro-orm/core';
import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';
import { newId } from '../../../platform/database/index.js';

/** What a link lets its holder do: look; look and save; or only hand files in, without seeing what is there. */
export const ALLOWANCES = ['view', 'download', 'upload'] as const;
export type Allowance = (typeof ALLOWANCES)[number];

/** A link that opens one path of a workspace to whoever holds it. */
@Entity({ tableName: 'share_link' })
export class ShareLink {
  @PrimaryKey({ type: 'uuid' })
  id: string = newId();

  @Property({ type: 'uuid' })
  workspaceId: string;

  /** Normalized; empty for the whole workspace. */
  @Property({ type: 'text' })
  path: string;

  @Property({ type: 'text' })
  allow: Allowance;

  /** SHA-256 of the token, by which it is found. */
  @Property({ type: 'text' })
  tokenHash: string;

  @Property({ type: 'text' })
  sealedToken: string;

  /** Argon2id; null for a link that is enough by itself. */
  @Property({ type: 'text', nullable: true })
  passwordHash: string | null = null;

  @Property({ type: 'timestamptz', nullable: true })
  expiresAt: Date | null = null;

  @Property({ type: 'uuid' })
  createdBy: string;

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();

  @Property({ type: 'timestamptz', onUpdate: () => new Date() })
  updatedAt: Date = new Date();

  @Property({ type: 'int' })
  views: number & Opt = 0;

  @Property({ type: 'int' })
  downloads: number & Opt = 0;

  @Property({ type: 'int' })
  uploads: number & Opt = 0;

  @Property({ type: 'timestamptz', nullable: true })
  lastOpenedAt: Date | null = null;

  constructor(fields: { workspaceId: string; path: string; allow: Allowance; createdBy: string }) {
    this.workspaceId = fields.workspaceId;
    this.path = fields.path;
    this.allow = fields.allow;
    this.createdBy = fields.createdBy;
  }
}
