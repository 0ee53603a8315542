import { Injectable } from '@nestjs/common';
import { type Actor, type OrganizationRole, type WorkspaceAccess } from '../access/index.js';

/** The roles that a caller has: in all of their organizations and workspaces, or in one workspace. */
export interface Roles {
  readonly organization: readonly OrganizationRole[];
  readonly workspace: readonly WorkspaceAccess[];
}

type Source = (actor: Actor, workspaceId: string | null) => Promise<Roles>;

/** Which roles a caller has. A port: who knows the roles registers. */
@Injectable()
export class CallerRoles {
  private source: Source = async () => ({ organization: [], workspace: [] });

  /** Called while modules start. */
  askedOf(source: Source): void {
    this.source = source;
  }

  /** null: wherever the caller has any. 404 for a workspace that they do not see. */
  of(actor: Actor, workspaceId: string | null): Promise<Roles> {
    return this.source(actor, workspaceId);
  }
}
