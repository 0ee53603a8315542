export { AccessModule } from './access.module.js';
export { AccessControl, type Refusal } from './access-control.js';
export { LINK_PARAMETER } from './access-views.js';
export type { Admitted } from './admitted.js';
export { AccessPolicies } from './policies/access-policies.js';
export { ViewerKeys, viewerKeysTopic } from './viewer-keys.js';
export { ViewerTokens } from './viewer-tokens.js';
export { isBot, isNavigation, isSameOrigin } from './visits/fetch-site.js';
export { Visits } from './visits/visits.js';
