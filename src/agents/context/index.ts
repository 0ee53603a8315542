export { ChatSummariesStore, keepSummary } from './chat-summaries.store.js';
export type { ChatSummary } from './chat-summary.js';
export { Compactor } from './compactor.js';
export { ContextModule } from './context.module.js';
export { ContextWindow, type ModelInput } from './context-window.js';
export { Conversation } from './conversation.js';
