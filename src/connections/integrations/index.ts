export { IntegrationsModule } from './integrations.module.js';
export { limitedToRepository } from './providers/credential-limits.js';
export {
  connectionChanged,
  connectionExpiring,
  connectionGranted,
  connectionNeedsReauth,
} from './records/connection-events.js';
export { type CredentialPlace, listPlaces } from './requests/credential-places.js';
export {
  type GrantedConnection,
  GrantedConnections,
  type OpenedCredential,
} from './requests/granted-connections.js';
export { apiPath, METHODS } from './requests/request-path.js';
