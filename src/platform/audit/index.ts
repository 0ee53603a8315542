export { Audit } from './audit.js';
export type { AuditEntry } from './audit-entry.js';
