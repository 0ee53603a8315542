export { Audit } from './audit.js';
export type { AuditEntry, AuditRow } from './audit-entry.js';
