export { ChatSummariesStore, type ChatSummary, keepSummary } from './chat-summaries.store.js';
export { Compactor } from './compactor.js';
export { ContextModule } from './context.module.js';
export { ContextWindow, Conversation, type ModelInput } from './conversation.js';
