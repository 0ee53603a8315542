export { connectorToolsChanged } from './connector-events.js';
export {
  AUTHS,
  type Auth,
  type ConnectorRow,
  type CredentialRow,
  type StoredClient,
  TOOL_STATES,
  type ToolRow,
  type ToolState,
} from './connector-rows.js';
export { connectorTopic } from './connector-topic.js';
export { ConnectorsStore } from './connectors.store.js';
export { type CredentialOfConnector, type CredentialScope, CredentialsStore } from './credentials.store.js';
export { type GrantedConnector, type GrantedTool, GrantsStore } from './grants.store.js';
export { type SeenTool, ToolsStore } from './tools.store.js';
