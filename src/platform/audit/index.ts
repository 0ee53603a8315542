export { Audit, type AuditFacts, audited } from './audit.js';
