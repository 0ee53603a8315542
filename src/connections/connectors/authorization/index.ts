export { ClientDocumentController } from './client-document.js';
export { ClientRegistration, SECRET_PLACE } from './client-registration.js';
export { ConnectorAuthorization } from './connector-authorization.js';
export { CONNECTORS, ConnectorsProcessor } from './connector-check.js';
export { CredentialKeeper, permissionToAuthorize, typedCredential } from './credential-keeper.js';
export { TokenRefresher } from './token-refresher.js';
