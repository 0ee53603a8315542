import { Injectable } from '@nestjs/common';
import { type Actor, Credentials } from '../../platform/access/index.js';
import type { Row } from '../../platform/database/index.js';
import { stillMay, type Watcher } from '../../platform/streams/index.js';
import type { Chat } from './chat.entity.js';
import { ChatsStore } from './chats.store.js';

/** Who may go on reading a chat. */
@Injectable()
export class ChatAccess {
  constructor(
    private readonly chats: ChatsStore,
    private readonly credentials: Credentials,
  ) {}

  /** Somebody who reads the chat, or one of its runs. */
  watcher(actor: Actor, { id, workspace_id: workspaceId }: Pick<Row<Chat>, 'id' | 'workspace_id'>): Watcher {
    const require = () => this.chats.require(actor, 'chat.read', id);
    return { actor, workspaceId, may: () => stillMay(this.credentials, actor, require) };
  }
}
