import { PrimaryKeyProp } from '@mikro-orm/core';
import { Entity, PrimaryKey, Property } from '@mikro-orm/decorators/legacy';
import type { WorkspaceRole } from '../../platform/access/index.js';

/** A person or service account added to a workspace by name. */
@Entity({ tableName: 'workspace_member' })
export class WorkspaceMember {
  [PrimaryKeyProp]?: ['workspaceId', 'principalId'];

  @PrimaryKey({ type: 'uuid' })
  workspaceId: string;

  @PrimaryKey({ type: 'uuid' })
  principalId: string;

  @Property({ type: 'text' })
  role: WorkspaceRole;

  @Property({ type: 'timestamptz' })
  createdAt: Date = new Date();

  constructor(workspaceId: string, principalId: string, role: WorkspaceRole) {
    this.workspaceId = workspaceId;
    this.principalId = principalId;
    this.role = role;
  }
}
