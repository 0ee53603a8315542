export {
  AccessTokenGuard,
  ApiKeyGuard,
  CredentialGuard,
  isOAuthToken,
  OAuthTokenGuard,
  RecentChecks,
  workspaceReadBy,
} from './credential.guard.js';
