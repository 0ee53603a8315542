export type { FlowHandler, FlowOutcome, FlowRequest, Grant, ReturnedFlow } from './flow.js';
export { OAuthFlows, type StartedFlow } from './oauth-flows.js';
export { requireReachable } from './reachable.js';
export {
  asProblem,
  ClientRejected,
  GrantRejected,
  isProviderProblem,
  ProviderFault,
  type RefreshedTokens,
  type Refresher,
} from './refresher.js';
export { StoredCredentialsModule } from './stored-credentials.module.js';
export { type OAuthClient, requestTokens } from './token-endpoint.js';
export { tokensChanged, tokensExpiring } from './token-events.js';
export { type HeldToken, hold, type TokenSet } from './token-set.js';
export { Tokens } from './tokens.js';
export { connectionTopic, type TokenStanding } from './tokens.store.js';
