export { IntegrationsModule } from './integrations.module.js';
export { limitedToRepository } from './limits/credential-limits.js';
export { apiPath, METHODS } from './paths/request-path.js';
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
  type OpenedCredential,
} from './requests/granted-connections.js';
