export { Login } from './auth.dto.js';
export { AuthModule } from './auth.module.js';
export { AuthService } from './auth.service.js';
export { EmailChangeService, EmailVerificationService } from './email.service.js';
export { InvitedAccounts, problemOfNewcomer } from './invited-accounts.js';
export { LoginProtection } from './login-protection.js';
export { PasswordsService } from './passwords.service.js';
export { Quotas } from './quotas.js';
export { SetupToken } from './setup-token.js';
