export {
  ConnectorCalls,
  type ConnectorTool,
  objectionTo,
  UsableTools,
} from './calls/index.js';
export { ConnectorsModule } from './connectors.module.js';
export { connectorToolsChanged } from './records/index.js';
export { CONNECTOR_TOOL, schemaForModels } from './tools/index.js';
