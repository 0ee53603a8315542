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

declare global {
  interface ColumnTypes {
    'audit_entry.details': Record<string, unknown>;
  }
}
