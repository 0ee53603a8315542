export { IntegrationsModule } from './integrations.module.js';
export { METHODS } from './paths/request-path.js';
export {
  connectionChanged,
  connectionExpiring,
  connectionGranted,
  connectionNeedsReauth,
} from './records/connection-events.js';
export { type CredentialPlace, placesOf } from './requests/credential-places.js';
export {
  type GrantedConnection,
  GrantedConnections,
} from './requests/granted-connections.js';
