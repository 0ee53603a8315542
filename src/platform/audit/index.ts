export { Audit, type AuditEntry } from './audit.js';
