export { HostNames, targetReleased } from './host-names.js';
export { type HostedHost, HostTable } from './host-table.js';
export { auditTarget, HOSTED, type HostedInput, hostedId } from './hosted-kinds.js';
export { HostedRegistry } from './hosted-registry.js';
export { type HostedTarget, type HostedTargetSource, HostedTargets } from './hosted-targets.js';
export { type HostedKind, HostingDomain, normalizeHost } from './hosting-domain.js';
export { HostsModule } from './hosts.module.js';
export { LongPolls } from './long-polls.js';
export { slugify } from './slugs.js';
