import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';
import type { OrganizationRole } from '../../platform/access/index.js';
import { newId } from '../../platform/database/index.js';

/** A non-human identity of an organization, which owns API keys. */
@Entity({ tableName: 'service_account' })
export class ServiceAccount {
  @PrimaryKey({ type: 'uuid' })
  id: string = newId();

  @Property({ type: 'uuid' })
  organizationId: string;

  @Property({ type: 'text' })
  name: string;

  /** The role it was given; what it has right now is never more than its sponsor's. */
  @Property({ type: 'text' })
  role: OrganizationRole;

  /** The person who answers for it: first its creator. Once they have left the organization it can do nothing. */
  @Property({ type: 'uuid' })
  sponsorId: string;

  @Property({ type: 'uuid' })
  createdBy: string;

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();

  @Property({ type: 'timestamptz', onUpdate: () => new Date() })
  updatedAt: Date = new Date();

  constructor(fields: {
    organizationId: string;
    name: string;
    role: OrganizationRole;
    sponsorId: string;
    createdBy: string;
  }) {
    this.organizationId = fields.organizationId;
    this.name = fields.name;
    this.role = fields.role;
    this.sponsorId = fields.sponsorId;
    this.createdBy = fields.createdBy;
  }
}
