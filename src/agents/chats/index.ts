export { Chat, chatTopic } from './chat.entity.js';
export { ChatView, RUN_STATUSES, TITLE } from './chats.dto.js';
export { ChatsModule } from './chats.module.js';
export { ChatsService } from './chats.service.js';
export { type ChatStanding, ChatsStore, chatsOf, requireInChat } from './chats.store.js';
export type { MessagePart, StoredMessage } from './message.js';
export {
  type ConversationRow,
  type MessageRow,
  MessagesStore,
  type Said,
  type SaidCall,
} from './messages.store.js';
export type { ToolCallRow } from './tool-call.js';
