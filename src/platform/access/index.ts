export * from './access.js';
export * from './access.js';
export * from './policy.js';
export { RecentChecks } from './recent-checks.js';
