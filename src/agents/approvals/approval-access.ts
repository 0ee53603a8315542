import { Injectable } from '@nestjs/common';
import {
  type Actor,
  isWorkspacePermission,
  requireScope,
  type WorkspacePermission,
} from '../../platform/access/index.js';
import { ActionCatalog } from '../../platform/actions/index.js';
import { Forbidden, NotFound, unseenAs } from '../../platform/errors/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { ChatsStore } from '../chats/index.js';
import type { ApprovalRow } from './approval.js';

const NONE = 'No such approval';

/** Who may look at an approval, and who may decide about it. */
@Injectable()
export class ApprovalAccess {
  constructor(
    private readonly chats: ChatsStore,
    private readonly workspaces: WorkspacesStore,
    private readonly catalog: ActionCatalog,
  ) {}

  /**
   * 404 where the caller does not see it, 403 where their role or their key is too low. What belongs to no workspace is for
   * the requester. To decide takes a role that lets the caller do the same: else another person's agent could do for them
   * what they may not.
   */
  async require(actor: Actor, permission: WorkspacePermission, row: ApprovalRow): Promise<void> {
    const { chat_id, workspace_id, requested_by } = row;
    if (chat_id) await unseenAs(NONE, this.chats.require(actor, permission, chat_id));
    else if (workspace_id) await unseenAs(NONE, this.workspaces.require(actor, permission, workspace_id));
    else if (requested_by !== actor.id) throw new NotFound(NONE);
    requireScope(actor, permission);
    if (permission === 'approval.decide') await this.requireRoleFor(actor, row);
  }

  private async requireRoleFor(actor: Actor, { tool, workspace_id }: ApprovalRow): Promise<void> {
    const permission = this.catalog.get(tool)?.declaration.permission ?? null;
    if (!workspace_id || !isWorkspacePermission(permission)) return;
    // The scope by which a key decides is that for deciding.
    const person = { ...actor, credential: { ...actor.credential, scopes: null } };
    await this.workspaces.require(person, permission, workspace_id);
  }
}

/**
 * Refuses a service account, and what acts for an agent: a run, what it started, an application that was let in. Else an agent could allow itself
 * what a person is to be asked about. (403)
 */
export function requirePerson({ type: kind, credential: { type } }: Actor, what: string): void {
  if (kind !== 'user' || (type !== 'session' && type !== 'api_key'))
    throw new Forbidden(`Only a person, signed in or by an API key, can ${what}`);
}

/** As {@link requirePerson}; of a call that a program makes with a key, the key itself cannot decide. (403) */
export function requireSignIn({ credential: { type } }: Actor, what: string): void {
  if (type !== 'session') throw new Forbidden(`Only a person who is signed in can ${what}`);
}
