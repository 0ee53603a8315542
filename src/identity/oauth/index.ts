export { ArtifactsStore } from './artifacts/artifacts.store.js';
export { ClientsStore } from './clients/clients.store.js';
export { WorkspaceChoices } from './interactions/consent.service.js';
export { SigningKeys } from './keys/signing-keys.js';
export { OAuthModule } from './oauth.module.js';
export { DEFAULT_SCOPES, OAuthResources, readOnly, stepUp } from './scopes/scopes.js';
export { OAuthTokens } from './tokens/oauth-tokens.js';
