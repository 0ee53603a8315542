export { Chat, chatTopic } from './chat.entity.js';
export { ChatView, RUN_STATUSES, TITLE } from './chats.dto.js';
export { ChatsModule } from './chats.module.js';
export { ChatsService } from './chats.service.js';
export { type ChatStanding, ChatsStore, chatsOf, requireInChat } from './chats.store.js';
export {
  type ConversationRow,
  type MessagePart,
  type MessageRow,
  MessagesStore,
  type Said,
  type SaidCall,
  type StoredMessage,
  type ToolCallRow,
} from './messages.store.js';
