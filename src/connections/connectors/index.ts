export { ConnectorCalls } from './calls/connector-calls.js';
export { type ConnectorTool, objectionTo, UsableTools } from './calls/usable-tools.js';
export { ConnectorsModule } from './connectors.module.js';
export { connectorToolsChanged } from './records/connector-events.js';
export { schemaForModels } from './tools/pin.js';
export { CONNECTOR_TOOL } from './tools/tool-names.js';
