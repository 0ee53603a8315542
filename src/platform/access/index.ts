export * from './access.js';
export * from './policy.js';
export { type FoundWorkspace, takeWorkspace, withWorkspace } from './read-workspace.js';
