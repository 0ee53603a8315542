export { domainFailed, domainFailing } from './domain-events.js';
export { DomainsModule } from './domains.module.js';
