/** How a request proved who it is. */
export interface Credential {
  readonly type: 'api_key' | 'session' | 'oauth' | 'exec';
  readonly id: string;
  /** Scopes it is limited to; null for all that its owner may do. */
  readonly scopes: readonly string[] | null;
  readonly expires_at: string | null;
  /** The one organization it is bound to; null when it acts in all of its owner's. */
  readonly organization_id: string | null;
  /** The workspaces it is limited to; null for all. */
  readonly workspace_ids: readonly string[] | null;
}

/** Who acts: a person or a service account, through one credential. Every capability takes one. */
export interface Actor {
  readonly type: 'user' | 'service_account';
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly credential: Credential;
}
