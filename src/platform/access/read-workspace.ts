import type { Row } from '../database/index.js';
import type { Actor } from './access.js';
import type { WorkspaceRole } from './policy.js';

/** A workspace of the caller's organizations, with their role there: null where they do not see it. */
export type FoundWorkspace = Row<'workspace'> & { role: WorkspaceRole | null };

interface Found {
  readonly id: string;
  /** undefined: there is none, as far as the caller may know. */
  readonly workspace: FoundWorkspace | undefined;
}

const found = new WeakMap<Actor, Found>();

/** The caller, for one request: what one statement found of them and of the workspace that it is about. */
export function withWorkspace(actor: Actor, id: string, workspace: FoundWorkspace | undefined): Actor {
  const ofRequest = { ...actor };
  found.set(ofRequest, { id, workspace });
  return ofRequest;
}

/**
 * The workspace that was found with the caller. Once: whoever asks again, as a stream does while it is open, wants to know
 * what is true by then.
 */
export function takeWorkspace(actor: Actor, id: string): Found | undefined {
  const its = found.get(actor);
  found.delete(actor);
  return its?.id === id ? its : undefined;
}
