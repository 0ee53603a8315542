export { Audit, type AuditEntry, type AuditFacts, audited } from './audit.js';
