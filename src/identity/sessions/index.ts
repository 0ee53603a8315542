export { ISSUER } from './access-tokens.js';
export { SessionsModule } from './sessions.module.js';
export { type IssuedTokens, SessionsService, signedIn } from './sessions.service.js';
export type { SignInSource } from './sessions.store.js';
