export { AuditLogModule } from './audit-log.module.js';
