export { AllowList, normalizeEntry } from './allow-list.js';
export type { Resolver } from './dial.js';
export { type EgressConnection, EgressProxy, type EgressProxyOptions } from './egress-proxy.js';
export { normalizeHost } from './host.js';
export { presets } from './presets.js';
export { EgressRefusal, type RefusalReason } from './refusal.js';
export { proxyVariables, RELAY_PORT, relaySource, startRelay } from './relay.js';
