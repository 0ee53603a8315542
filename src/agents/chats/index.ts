export { ChatSummariesStore, type ChatSummary, keepSummary } from './chat-summaries.store.js';
export { ChatView, type CreateChat, RUN_STATUSES, TITLE } from './chats.dto.js';
export { ChatsModule } from './chats.module.js';
export { ChatsService } from './chats.service.js';
export {
  type ChatStanding,
  ChatsStore,
  chatsOf,
  chatTopic,
  type NewChat,
  requireInChat,
} from './chats.store.js';
export { Compactor } from './compactor.js';
export { ContextView } from './context-use.js';
export { Conversation, type ModelInput } from './conversation.js';
export {
  type MessagePart,
  type MessageRow,
  MessagesStore,
  type QueuedRow,
  type Said,
  type SaidCall,
  type StoredMessage,
  type ToolCallRow,
} from './messages.store.js';
export { supersededResults, withoutResults } from './superseded.js';
export { isUnnamed, titleOf } from './title.js';
