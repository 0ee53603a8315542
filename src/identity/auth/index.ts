export { Login } from './auth.dto.js';
export { AuthModule } from './auth.module.js';
export { AuthService, SetupToken } from './auth.service.js';
export { EmailChangeService, EmailVerificationService } from './email.service.js';
export { InvitedAccounts, problemOfNewcomer } from './invited-accounts.js';
export { LoginProtection, Quotas } from './login-protection.js';
export { PasswordsService } from './passwords.service.js';
