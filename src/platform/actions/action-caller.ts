import type { Actor, Credential } from '../access/actor.js';
import { isWorkspacePermission } from '../access/policy.js';
import { Forbidden, NotFound } from '../http/problem.js';
import type { ActionDeclaration } from './action.js';
import type { ActionAllowlist } from './allowlist.js';

/** By which way an action is called. */
export const SURFACES = ['rest', 'mcp', 'agent', 'sandbox', 'exec'] as const;
export type ActionSurface = (typeof SURFACES)[number];

/** The programs that act in one workspace, for whoever started them. */
export const PROGRAMS = ['run', 'site', 'server', 'automation'] as const;

/** What calls: one of the programs, or somebody's credential. */
export interface CallingProgram {
  readonly kind: (typeof PROGRAMS)[number];
  readonly id: string;
}

interface Parts {
  actor: Actor;
  surface: ActionSurface;
  kind: CallingProgram['kind'] | Credential['type'];
  id: string;
  workspaceId: string | null;
  allowlist: ActionAllowlist | null;
  mayDestroy?: () => boolean;
}

/** Who calls an action, by which way, and within which limits besides what the actor may. */
export class ActionCaller {
  /** On whose authority it is done. */
  readonly actor: Actor;
  readonly surface: ActionSurface;
  readonly kind: Parts['kind'];
  readonly id: string;
  /** The one workspace that it acts in; null for wherever the actor may. */
  readonly workspaceId: string | null;
  private readonly allowlist: ActionAllowlist | null;
  private readonly mayDestroy: () => boolean;

  private constructor(parts: Parts) {
    this.actor = parts.actor;
    this.surface = parts.surface;
    this.kind = parts.kind;
    this.id = parts.id;
    this.workspaceId = parts.workspaceId;
    this.allowlist = parts.allowlist;
    this.mayDestroy = parts.mayDestroy ?? (() => true);
  }

  /** Somebody who calls with a credential of their own. */
  static direct(actor: Actor, surface: ActionSurface): ActionCaller {
    const { type: kind, id } = actor.credential;
    return new ActionCaller({ actor, surface, kind, id, workspaceId: null, allowlist: null });
  }

  /**
   * A program that acts for `actor`, in one workspace and with the actions of its allowlist; `mayDestroy` is asked before
   * each that is destructive. 404 where the actor's own key does not reach there.
   */
  static program(
    { kind, id }: CallingProgram,
    surface: ActionSurface,
    limits: {
      actor: Actor;
      workspaceId: string;
      allowlist: ActionAllowlist;
      tokenId?: string;
      mayDestroy?: () => boolean;
    },
  ): ActionCaller {
    const actor = narrowed(limits.actor, limits.workspaceId, limits.tokenId ?? id);
    const { workspaceId, allowlist, mayDestroy } = limits;
    return new ActionCaller({ actor, surface, kind, id, workspaceId, allowlist, mayDestroy });
  }

  /** Whether it is a program, not a credential of the actor. */
  get isProgram(): boolean {
    return this.workspaceId !== null;
  }

  /** Why it may not run the action, whatever the actor may; undefined where it may. */
  objection({ name, effect, permission, sessionOnly }: ActionDeclaration): string | undefined {
    if (sessionOnly && this.kind !== 'session')
      return `${name} takes your own sign-in; no key, service account, run or token can do it`;
    if (this.allowlist && !this.allowlist.allows({ name, effect }))
      return effect === 'destructive'
        ? `${name} is destructive: this ${this.kind} may run it only where its allowlist names it in full`
        : `This ${this.kind} may not run ${name}; its allowlist does not name it`;
    if (effect === 'destructive' && !this.mayDestroy())
      return `${name} is destructive and needs an approval, for which nobody can be asked from here`;
    if (this.workspaceId !== null && !isWorkspacePermission(permission))
      return `This ${this.kind} acts in its workspace, and ${name} reaches beyond it`;
    return undefined;
  }

  /** Throws Forbidden with the objection, where there is one. */
  requireMayRun(declaration: ActionDeclaration): void {
    const objection = this.objection(declaration);
    if (objection) throw new Forbidden(objection);
  }
}

/** The actor through a credential that sees one workspace alone, and has the scopes of the credential it comes from. */
function narrowed(actor: Actor, workspaceId: string, id: string): Actor {
  const { workspace_ids } = actor.credential;
  if (workspace_ids && !workspace_ids.includes(workspaceId)) throw new NotFound('No such workspace');
  return { ...actor, credential: { ...actor.credential, type: 'exec', id, workspace_ids: [workspaceId] } };
}
