import { PrimaryKeyProp } from '@mikro-orm/core';
import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';
import { type OrganizationRole } from '../../platform/access/index.js';
import { newId } from '../../platform/database/index.js';

/** A team: it owns workspaces, and its members work in them. */
@Entity({ tableName: 'organization' })
export class Organization {
  @PrimaryKey({ type: 'uuid' })
  id: string = newId();

  @Property({ type: 'text' })
  name: string;

  @Property({ type: 'uuid' })
  createdBy: string;

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();

  @Property({ type: 'timestamptz', onUpdate: () => new Date() })
  updatedAt: Date = new Date();

  constructor(name: string, createdBy: string) {
    this.name = name;
    this.createdBy = createdBy;
  }
}

/** A person's place in an organization. */
@Entity({ tableName: 'organization_member' })
export class OrganizationMember {
  [PrimaryKeyProp]?: ['organizationId', 'userId'];

  @PrimaryKey({ type: 'uuid' })
  organizationId: string;

  @PrimaryKey({ type: 'uuid' })
  userId: string;

  @Property({ type: 'text' })
  role: OrganizationRole;

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();

  constructor(organizationId: string, userId: string, role: OrganizationRole) {
    this.organizationId = organizationId;
    this.userId = userId;
    this.role = role;
  }
}
