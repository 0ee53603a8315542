export { ConnectorCalls } from './connector-calls.js';
export { ConnectorChecks } from './connector-checks.js';
export { ConnectorClients } from './connector-clients.js';
export { CredentialUse, credentialOf } from './credential-use.js';
export { ToolSync } from './tool-sync.js';
export { type ConnectorTool, objectionTo, UsableTools } from './usable-tools.js';
