export { ApiKeyStrategy } from './api-key.strategy.js';
export { AccessTokenGuard, ApiKeyGuard, CredentialGuard, OAuthTokenGuard } from './credential.guard.js';
export { isOAuthToken } from './token-kind.js';
