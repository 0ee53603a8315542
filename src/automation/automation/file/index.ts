export * from './automation-definition.js';
export { readAutomation } from './automation-file.js';
export { fillInJson, type PlaceholderValues } from './placeholders.js';
