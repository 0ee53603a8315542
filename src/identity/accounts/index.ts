export { EMAIL, PASSWORD, PERSON_NAME, UserView } from './accounts.dto.js';
export { AccountsModule } from './accounts.module.js';
export { userView } from './accounts.service.js';
export { hashPassword, Installation, passwordMatches, User } from './user.entity.js';
