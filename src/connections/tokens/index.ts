export {
  ClientRejected,
  GrantRejected,
  ProviderFault,
  type RefreshedTokens,
  type Refresher,
} from './refresher.js';
export { type OAuthClient, requestTokens } from './token-endpoint.js';
export { tokensChanged, tokensExpiring } from './token-events.js';
export { type HeldToken, hold, type TokenSet } from './token-set.js';
export { Tokens } from './tokens.js';
export { TokensModule } from './tokens.module.js';
export { connectionTopic, type TokenStanding } from './tokens.store.js';
