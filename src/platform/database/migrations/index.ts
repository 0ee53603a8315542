import { Actions } from './20261121-actions.js';
import { AuditLog } from './20261121-audit.js';
import { Billing } from './20261121-billing.js';
import { Changes } from './20261121-changes.js';
import { First } from './20261121-first.js';
import { MailOutboxTable } from './20261121-mail.js';
import { OAuth } from './20261121-oauth.js';
import { Operations } from './20261121-operations.js';
import { Requests } from './20261121-requests.js';
import { Sandboxes } from './20261121-sandboxes.js';
import { Sharing } from './20261121-share.js';
import { SignIn } from './20261121-sign-in.js';
import { Tenancy } from './20261121-tenancy.js';
import { Context } from './20261122-context.js';
import { Delivery } from './20261122-delivery.js';
import { FileHistory } from './20261122-history.js';
import { McpApprovals } from './20261122-mcp-approvals.js';
import { McpSessions } from './20261122-mcp-sessions.js';
import { RunAuthorityMarks } from './20261122-run-authority.js';
import { RunQueueTables } from './20261122-run-queue.js';
import { SandboxSessions } from './20261122-sandboxes.js';
import { Tasks } from './20261122-tasks.js';

/** Every migration, oldest first. The name is what the database remembers: never change it. */
export const migrationsList = [
  { name: '20261121-first', class: First },
  { name: '20261121-tenancy', class: Tenancy },
  { name: '20261121-audit', class: AuditLog },
  { name: '20261121-mail', class: MailOutboxTable },
  { name: '20261121-billing', class: Billing },
  { name: '20261121-sign-in', class: SignIn },
  { name: '20261121-requests', class: Requests },
  { name: '20261121-actions', class: Actions },
  { name: '20261121-oauth', class: OAuth },
  { name: '20261121-share', class: Sharing },
  { name: '20261121-changes', class: Changes },
  { name: '20261121-sandboxes', class: Sandboxes },
  { name: '20261121-operations', class: Operations },
  { name: '20261122-delivery', class: Delivery },
  { name: '20261122-run-queue', class: RunQueueTables },
  { name: '20261122-run-authority', class: RunAuthorityMarks },
  { name: '20261122-context', class: Context },
  { name: '20261122-mcp-sessions', class: McpSessions },
  { name: '20261122-mcp-approvals', class: McpApprovals },
  { name: '20261122-tasks', class: Tasks },
  { name: '20261122-sandboxes', class: SandboxSessions },
  { name: '20261122-history', class: FileHistory },
];
