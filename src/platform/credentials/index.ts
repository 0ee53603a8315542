export {
  AccessTokenGuard,
  ApiKeyGuard,
  CredentialGuard,
  isOAuthToken,
  OAuthTokenGuard,
  RecentChecks,
} from './credential.guard.js';
