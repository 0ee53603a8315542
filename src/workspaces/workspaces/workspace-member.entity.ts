import { PrimaryKeyProp } from '@mikro-orm/core';
import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';
import type { WorkspaceRole } from '../../platform/access/policy.js';

/** A person added to a workspace by name. */
@Entity({ tableName: 'workspace_member' })
export class WorkspaceMember {
  [PrimaryKeyProp]?: ['workspaceId', 'userId'];

  @PrimaryKey({ type: 'uuid' })
  workspaceId: string;

  @PrimaryKey({ type: 'uuid' })
  userId: string;

  @Property({ type: 'text' })
  role: WorkspaceRole;

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();

  constructor(workspaceId: string, userId: string, role: WorkspaceRole) {
    this.workspaceId = workspaceId;
    this.userId = userId;
    this.role = role;
  }
}
