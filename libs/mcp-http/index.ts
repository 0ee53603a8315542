export { callOf } from './exchange.js';
export { McpHttp } from './mcp-http.js';
export {
  type Answer,
  type Cancellations,
  type ChangeSource,
  LISTS,
  type ListName,
  type McpHost,
  McpHttpError,
  type McpSession,
  type MessageStream,
  type QuestionStore,
  type SessionClient,
  type SessionState,
  type SessionStore,
  type Streams,
  type Watch,
} from './ports.js';
export { structured } from './results.js';
