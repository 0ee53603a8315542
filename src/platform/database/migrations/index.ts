import { AuditLog } from './20261121-audit.js';
import { First } from './20261121-first.js';
import { MailOutboxTable } from './20261121-mail.js';
import { Tenancy } from './20261121-tenancy.js';

/** Every migration, oldest first. The name is what the database remembers: never change it. */
export const migrationsList = [
  { name: '20261121-first', class: First },
  { name: '20261121-tenancy', class: Tenancy },
  { name: '20261121-audit', class: AuditLog },
  { name: '20261121-mail', class: MailOutboxTable },
];
