import { Inject, Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/access/actor.js';
import { requireScope, type WorkspacePermission } from '../../platform/access/policy.js';
import type { Row } from '../../platform/database/rows.js';
import { NotFound, unseenAs } from '../../platform/http/problem.js';
import { WorkspacesStore } from '../../workspaces/index.js';
import { ChatsStore } from '../chats/chats.store.js';
import type { Approval } from './approval.entity.js';

const NONE = 'No such approval';

/** Who may look at an approval, and who may decide about it. */
@Injectable()
export class ApprovalAccess {
  constructor(
    @Inject(ChatsStore) private readonly chats: ChatsStore,
    @Inject(WorkspacesStore) private readonly workspaces: WorkspacesStore,
  ) {}

  /**
   * 404 where the caller does not see it, 403 where their role or their key is too low. What belongs to no workspace is for
   * whoever asked.
   */
  async require(actor: Actor, permission: WorkspacePermission, row: Row<Approval>): Promise<void> {
    const { chat_id, workspace_id, requested_by } = row;
    if (chat_id) await unseenAs(NONE, this.chats.require(actor, permission, chat_id));
    else if (workspace_id) await unseenAs(NONE, this.workspaces.require(actor, permission, workspace_id));
    else if (requested_by !== actor.id) throw new NotFound(NONE);
    requireScope(actor, permission);
  }
}
