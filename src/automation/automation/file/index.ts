export * from './automation-definition.js';
export { readAutomation, withPlainLineEnds } from './automation-file.js';
export { fillInJson, type PlaceholderValues } from './placeholders.js';
