import type { AdapterPayload } from 'oidc-provider';

/** What a person allowed a client, as it lies in the database. */
export interface GrantRow {
  id: string;
  user_id: string;
  client_id: string;
  client_name: string;
  /** Where the person was sent back to; null for a device that showed a code. */
  redirect_host: string | null;
  /** As granted, bundles included. */
  scopes: string[];
  resources: string[];
  /** null: every workspace that the person sees. */
  workspace_ids: string[] | null;
  /** The grant as oidc-provider keeps it. */
  terms: AdapterPayload;
  created_at: string;
  last_used_at: string | null;
  expires_at: string;
}
