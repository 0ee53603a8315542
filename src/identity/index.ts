import { Installation } from './accounts/installation.entity.js';
import { User } from './accounts/user.entity.js';
import { EmailToken } from './auth/email/email-token.entity.js';
import { Invitation } from './invitations/invitation.entity.js';
import { ApiKey } from './keys/api-key.entity.js';
import { Organization, OrganizationMember } from './organizations/index.js';
import { ServiceAccount } from './service-accounts/service-account.entity.js';
import { RefreshToken } from './sessions/refresh-token.entity.js';
import { Session } from './sessions/session.entity.js';

export { InvitedAccounts } from './accounts/invited-accounts.js';
export { hashPassword, passwordMatches } from './accounts/passwords.js';
export { AuthService } from './auth/auth.service.js';
export { EmailChangeService } from './auth/email/email-change.service.js';
export { PasswordsService } from './auth/passwords/passwords.service.js';
export { LoginProtection } from './auth/protection/login-protection.js';
export { Quotas } from './auth/protection/quotas.js';
export { SetupToken } from './auth/setup-token.js';
export { type Front, Fronts } from './auth/visits/front.js';
export {
  BudgetFields,
  BudgetReached,
  Budgets,
  BudgetView,
  enterModelCall,
  enterStorage,
  enterToolCall,
  freeReservation,
  hardStopOver,
  type PlannedSpend,
} from './billing/index.js';
export { IdentityModule } from './identity.module.js';
export { MailAllowance } from './invitations/mail-allowance.js';
export { acceptFrom } from './invitations/pages/accept-from.js';
export { InvitationRoutes } from './invitations/pages/invitation-routes.js';
export { noticePage } from './invitations/pages/notices.js';
export {
  type Offer,
  offerPage,
  otherAccountHtml,
  signInToGoOn,
  type Tried,
} from './invitations/pages/offer-page.js';
export { KeysService } from './keys/keys.service.js';
export { memberRemoved } from './members/members.events.js';
export {
  DEFAULT_SCOPES,
  OAuthResources,
  OAuthTokens,
  readOnly,
  stepUp,
  WorkspaceChoices,
} from './oauth/index.js';
export {
  type Membership,
  OrganizationsStore,
  organizationDeleting,
} from './organizations/index.js';
export { hashSecret, randomSecret } from './secrets.js';
export { TokenKey } from './sessions/token-key.js';
export { User };

export const identityEntities = [
  Installation,
  User,
  Session,
  RefreshToken,
  EmailToken,
  ApiKey,
  Organization,
  OrganizationMember,
  ServiceAccount,
  Invitation,
];
