export { WorkspaceChoices } from './consent/workspace-choices.js';
export { OAuthModule } from './oauth.module.js';
export { OAuthResources } from './resources.js';
export { DEFAULT_SCOPES, readOnly, stepUp } from './scopes.js';
export { OAuthTokens } from './tokens/oauth-tokens.js';
