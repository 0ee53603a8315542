import type { WorkspaceRole } from '../../platform/access/index.js';

export interface Viewer {
  readonly userId: string;
  readonly name: string;
  readonly email: string;
  /** Role in the workspace; null for outsiders. */
  readonly role: WorkspaceRole | null;
  /** The sign-in that the visit stands on. */
  readonly sessionId: string | null;
}

export interface Admitted {
  /** Who is signed in; undefined for visitors without an account, and programs. */
  readonly viewer?: Viewer;
  /** Absent for requests without a visit. */
  readonly visitId?: string;
  /** Whether answers are the same for everybody, so that caches may share them. */
  readonly isPublic: boolean;
}
