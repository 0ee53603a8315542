import type { Chain, OrganizationRole, WorkspaceRole } from '../../../platform/access/index.js';

/** Who is notified: some people, or everybody with a role in the workspace or the organization of the notice. */
export type Audience =
  /** For a service account, the person who answers for it; `orElse` where none of them may know any more. */
  | { readonly people: readonly string[]; readonly orElse?: readonly WorkspaceRole[] }
  | { readonly workspaceRoles: readonly WorkspaceRole[] }
  | { readonly organizationRoles: readonly OrganizationRole[] };

/** What has happened, in words. Those of the audience are notified who may know at that time (`needs` of the type). */
export interface Notice {
  readonly audience: Audience;
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
  /** The id of what has happened: no one is notified twice of one by the same type. */
  readonly about: string;
  /** One line. Neither it nor the body holds a secret. */
  readonly title: string;
  readonly body: string;
  /** The page on which one can do something about it, below PUBLIC_URL. */
  readonly link?: string;
  /** Ids of what it is about, for programs. */
  readonly data: Readonly<Record<string, string>>;
  /** When there is nothing left to do about it. */
  readonly expires_at?: string;
  /** The automations that led to it, so that it starts none of them again. */
  readonly chain?: Chain;
}

/** Of what visitors did: automations take it as data from outside. */
export const BY_STRANGERS: Chain = { deployments: [], depth: 0, untrusted: true };
