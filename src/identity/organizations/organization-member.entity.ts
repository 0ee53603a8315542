import { PrimaryKeyProp } from '@mikro-orm/core';
import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';
import type { OrganizationRole } from '../../platform/access/index.js';

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
