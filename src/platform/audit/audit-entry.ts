import type { Actor } from '../access/index.js';

/** What a change to access says of itself, besides who made it and where from. */
export interface AuditEntry {
  /** What was done, noun first: `workspace.set_visibility`. */
  action: string;
  target_type: string;
  target_id: string;
  /** The organization that reads about it; null for what concerns the installation or one account only. */
  organization_id: string | null;
  workspace_id?: string;
  /** What changed, for people to read. Never a secret, nor anything that stands for one. */
  details?: Record<string, unknown>;
}

/** A row of the audit log as it lies in the database. */
export interface AuditRow {
  id: string;
  time: Date;
  actor_type: Actor['type'] | null;
  actor_id: string | null;
  actor_name: string | null;
  on_behalf_of_id: string | null;
  credential_type: Actor['credential']['type'] | null;
  credential_id: string | null;
  action: string;
  target_type: string;
  target_id: string;
  organization_id: string | null;
  workspace_id: string | null;
  details: Record<string, unknown>;
  address: string | null;
  user_agent: string | null;
  request_id: string | null;
}
