import type { WorkspaceRole } from '../../platform/access/index.js';

/** Who looks at a site or server. */
export interface Viewer {
  readonly userId: string;
  readonly name: string;
  readonly email: string;
  /** Their role in the workspace; null where they have none. */
  readonly role: WorkspaceRole | null;
  /** The sign-in that the visit stands on. */
  readonly sessionId: string | null;
}

/** A request that may see what it asks for. */
export interface Admitted {
  /** Who is signed in; undefined for visitors without an account, and programs. */
  readonly viewer?: Viewer;
  /** The visit that it belongs to, where there is one. */
  readonly visitId?: string;
  /** Whether answers are the same for everybody, so that caches may share them. */
  readonly isPublic: boolean;
}
