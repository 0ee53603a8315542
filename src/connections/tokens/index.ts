export {
  ClientRejected,
  GrantRejected,
  ProviderFault,
  type RefreshedTokens,
  type Refresher,
} from './refresher.js';
export { type OAuthClient, requestTokens, type TokenRequest } from './token-endpoint.js';
export { type TokenSetState, tokensChanged, tokensExpiring } from './token-events.js';
export type { HeldToken, TokenSet } from './token-set.js';
export { ReauthorizationNeeded, Tokens } from './tokens.js';
export { TokensModule } from './tokens.module.js';
export { connectionTopic, type TokenStanding } from './tokens.store.js';
