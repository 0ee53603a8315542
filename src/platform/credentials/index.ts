export {
  AccessTokenGuard,
  ApiKeyGuard,
  CredentialGuard,
  isOAuthToken,
  OAuthTokenGuard,
} from './credential.guard.js';
