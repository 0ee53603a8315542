import type { Chain } from './chain.js';

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
  /** The agent run that acts through it: runs that it starts are its tasks. */
  readonly run?: ActingRun;
  /** The run of an automation whose script acts through it. */
  readonly automation_run_id?: string;
}

/** An agent run that uses the service on the authority of who started it. */
export interface ActingRun {
  readonly id: string;
  /** The lists of tools that limit it; null where they are not known here, and are to be looked up. */
  readonly tools: readonly (readonly string[])[] | null;
}

/** Who acts: a person or a service account, through one credential. Every capability takes one. */
export interface Actor {
  readonly type: 'user' | 'service_account';
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly credential: Credential;
  /** The way they came, where it is one that a workspace can turn off; a run that they start goes on without it. */
  readonly surface?: 'mcp';
  /** What led to it, where automations did. */
  readonly chain?: Chain;
  /** The tool call of an agent's run that acts for them. */
  readonly call?: ActingCall;
}

declare global {
  /** A tool call of a run: what it writes is the run's. Features add what they go by in a call. */
  interface ActingCall {
    readonly runId: string;
  }
}

/**
 * Whether `actor` may speak with the authority of `other`: the same person or service account, through the same credential
 * or one of their own that is no narrower.
 */
export function holdsAuthorityOf(actor: Actor, other: Actor): boolean {
  if (actor.type !== other.type || actor.id !== other.id) return false;
  const [held, asked] = [actor.credential, other.credential];
  if (held.id === asked.id && held.type === asked.type) return true;
  if (held.type !== 'session' && held.type !== 'api_key') return false;
  const isBoundElsewhere = held.organization_id !== null && held.organization_id !== asked.organization_id;
  return (
    !isBoundElsewhere && holds(held.scopes, asked.scopes) && holds(held.workspace_ids, asked.workspace_ids)
  );
}

/** Whether a limit allows all that another one does; null allows everything. */
const holds = (held: readonly string[] | null, asked: readonly string[] | null): boolean =>
  held === null || asked?.every(one => held.includes(one)) === true;

/** Whether it is an application that a person authorized: what it does may be unasked. */
export const isApplication = ({ type, credential }: Actor): boolean =>
  type === 'user' && credential.type === 'oauth';
