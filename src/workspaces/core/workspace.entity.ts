import type { Opt } from '@mikro-orm/core';
import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';
import type { Feature, Visibility } from '../../platform/access/index.js';
import { newId } from '../../platform/database/index.js';

/** A folder that people and agents share, and who may see it. */
@Entity({ tableName: 'workspace' })
export class Workspace {
  @PrimaryKey({ type: 'uuid' })
  id: string = newId();

  @Property({ type: 'uuid' })
  organizationId: string;

  @Property({ type: 'text' })
  name: string;

  @Property({ type: 'text' })
  visibility: Visibility;

  /** What its admins have turned off. */
  @Property({ type: 'text[]' })
  featuresOff: Feature[] = [];

  /** Counts workspaces across the installation; a sandbox's user id on the host follows from it. */
  @Property({ type: 'int', autoincrement: true, generated: 'always as identity', unique: true })
  number: number & Opt;

  @Property({ type: 'uuid' })
  createdBy: string;

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();

  @Property({ type: 'timestamptz', onUpdate: () => new Date() })
  updatedAt: Date = new Date();

  constructor(fields: { organizationId: string; name: string; visibility: Visibility; createdBy: string }) {
    this.organizationId = fields.organizationId;
    this.name = fields.name;
    this.visibility = fields.visibility;
    this.createdBy = fields.createdBy;
  }
}

declare global {
  interface ColumnTypes {
    'workspace.features_off': Feature[];
  }
}
