export {
  AccessTokenGuard,
  ApiKeyGuard,
  CredentialGuard,
  isOAuthToken,
  OAuthTokenGuard,
  RecentChecks,
  workspaceOf,
} from './credential.guard.js';
