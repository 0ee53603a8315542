export * from './automation-definition.js';
export { readAutomation } from './automation-file.js';
export { matchesFilter } from './filter.js';
export { fillIn } from './placeholders.js';
