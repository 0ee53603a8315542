export { AccessTokenKeys, ISSUER } from './access-token-keys.js';
export { RefreshToken } from './refresh-token.entity.js';
export { Session, type SignInSource } from './session.entity.js';
export { SessionsModule } from './sessions.module.js';
export { type IssuedTokens, SessionsService } from './sessions.service.js';
