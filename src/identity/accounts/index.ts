export { EMAIL, PASSWORD, PERSON_NAME, UserView } from './accounts.dto.js';
export { AccountsModule } from './accounts.module.js';
export { userView } from './accounts.service.js';
export { Installation } from './installation.entity.js';
export { InvitedAccounts, problemOfNewcomer } from './invited-accounts.js';
export { hashPassword, passwordMatches } from './passwords.js';
export { User } from './user.entity.js';
