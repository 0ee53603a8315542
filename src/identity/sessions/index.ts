export { RefreshToken, Session, type SignInSource } from './session.entity.js';
export { SessionsModule } from './sessions.module.js';
export { AccessTokenKeys, ISSUER, type IssuedTokens, SessionsService } from './sessions.service.js';
