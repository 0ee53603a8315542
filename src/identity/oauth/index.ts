export { WorkspaceChoices } from './interactions/workspace-choices.js';
export { SigningKeys } from './keys/signing-keys.js';
export { OAuthModule } from './oauth.module.js';
export { OAuthResources } from './scopes/oauth-resources.js';
export { DEFAULT_SCOPES, readOnly, stepUp } from './scopes/scopes.js';
export { ArtifactsStore } from './storage/artifacts.store.js';
export { ClientsStore } from './storage/clients.store.js';
export { OAuthTokens } from './tokens/oauth-tokens.js';
