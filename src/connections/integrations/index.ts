export { IntegrationsModule } from './integrations.module.js';
export type { CredentialHeader } from './oauth/credential.js';
export { isBelow, normalPath } from './paths/request-path.js';
export { connectionChanged, connectionExpiring, connectionNeedsReauth } from './records/connection-events.js';
export {
  type ConnectionLimit,
  type GrantedConnection,
  GrantedConnections,
} from './requests/granted-connections.js';
