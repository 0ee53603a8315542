export { HealthModule } from './health.module.js';
export { HostingFacts } from './hosting-facts.js';
