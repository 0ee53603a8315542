export { AllowList, normalizeEntry } from './allow-list.js';
export type { Resolver } from './dial.js';
export {
  type EgressConnection,
  EgressProxy,
  type EgressProxyOptions,
  type InspectionOptions,
} from './egress-proxy.js';
export type { ExchangeForwarder, ForwardedExchange } from './forwarded-exchange.js';
export { normalizeHost } from './host.js';
export { CertificateAuthority } from './inspection/certificate-authority.js';
export {
  type CredentialRule,
  type CredentialValue,
  fieldName,
  RuleSet,
} from './inspection/credential-rule.js';
export type { CredentialUse } from './inspection/inspector.js';
export {
  isOverridingHeader,
  isOverridingParameter,
  overridingParameter,
} from './inspection/request-override.js';
export { normalizePrefix, pathFault, prefixOf } from './inspection/request-path.js';
export { SecretForms } from './inspection/secret-forms.js';
export { presets } from './presets.js';
export { EgressRefusal, type RefusalReason } from './refusal.js';
export { proxyVariables, RELAY_PORT, relaySource, startRelay } from './relay.js';
