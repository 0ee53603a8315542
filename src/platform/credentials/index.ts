export {
  AccessTokenGuard,
  ApiKeyGuard,
  type CheckedActor,
  CredentialGuard,
  isOAuthToken,
  OAuthTokenGuard,
  RecentChecks,
  workspaceOf,
} from './credential.guard.js';
