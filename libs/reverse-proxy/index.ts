export { ProxyError, type ProxyFault } from './proxy-error.js';
export { proxyRequest } from './proxy-request.js';
export { proxyUpgrade } from './proxy-upgrade.js';
export { type AnswerGate, type ForwardRules, requestFault } from './request-head.js';
export { statusOf } from './status-of.js';
export { UpgradeClient } from './upgrade-client.js';
export { type Connect, Upstream, type UpstreamLimits } from './upstream.js';
