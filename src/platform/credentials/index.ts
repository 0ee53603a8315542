export {
  AccessTokenGuard,
  ApiKeyGuard,
  ApiKeyStrategy,
  CredentialGuard,
  isOAuthToken,
  OAuthTokenGuard,
} from './credential.guard.js';
