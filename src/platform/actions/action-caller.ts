import {
  type ActingRun,
  type Actor,
  type Credential,
  type Effect,
  isApplication,
  isWorkspacePermission,
} from '../access/index.js';
import { Forbidden, NotFound } from '../errors/index.js';
import { type ActionDeclaration, isGrave } from './action.js';

/** Prefix of what names an action, rather than a tool, in an agent's allowlist. */
const ACTION = 'action:';

/** Whether a list of names and globs (`*` only) names it. */
export function allows(allowlist: readonly string[], name: string): boolean {
  return allowlist.some(pattern => matches(pattern, name));
}

/** Takes time linear in the name for each star, whatever the pattern. */
function matches(pattern: string, name: string): boolean {
  const parts = pattern.split('*');
  const head = parts.shift() ?? '';
  const tail = parts.pop();
  if (tail === undefined) return pattern === name;
  if (name.length < head.length + tail.length || !name.startsWith(head) || !name.endsWith(tail)) return false;
  const end = name.length - tail.length;
  let from = head.length;
  for (const part of parts) {
    const found = name.indexOf(part, from);
    if (found < 0 || found + part.length > end) return false;
    from = found + part.length;
  }
  return true;
}

/**
 * The actions that a program may run: names and globs. A glob never covers what is destructive or exposes; that has to be
 * named in full.
 */
export class ActionAllowlist {
  /** `above` is a list that must allow it, too. */
  constructor(
    readonly patterns: readonly string[],
    private readonly above?: ActionAllowlist,
  ) {}

  /**
   * What an agent's list of tools says about actions: `actions_run`, or a glob that covers it, allows those that destroy
   * nothing and expose nothing; `action:NAME` allows that one. null is the list of an agent that may use every tool.
   */
  static ofTools(tools: readonly string[] | null): ActionAllowlist {
    if (tools === null) return new ActionAllowlist(['*']);
    const named = tools.filter(tool => tool.startsWith(ACTION)).map(tool => tool.slice(ACTION.length));
    return new ActionAllowlist(allows(tools, 'actions_run') ? ['*', ...named] : named);
  }

  /** What an agent may run for others, each of whom must be allowed to: the last list is its own. */
  static ofAllTools(lists: readonly (readonly string[])[]): ActionAllowlist {
    const [first = null, ...rest] = lists;
    const outermost = ActionAllowlist.ofTools(first);
    return rest.reduce(
      (above, tools) => new ActionAllowlist(ActionAllowlist.ofTools(tools).patterns, above),
      outermost,
    );
  }

  /** The same, and one action in full. */
  with(name: string): ActionAllowlist {
    return new ActionAllowlist([...this.patterns, name], this.above);
  }

  get isEmpty(): boolean {
    return this.patterns.length === 0 || this.above?.isEmpty === true;
  }

  allows({ name, effect }: Pick<ActionDeclaration, 'name' | 'effect'>): boolean {
    if (this.above && !this.above.allows({ name, effect })) return false;
    return isGrave(effect) ? this.patterns.includes(name) : allows(this.patterns, name);
  }
}

/** By which way an action is called. */
export const SURFACES = ['rest', 'mcp', 'agent', 'sandbox', 'exec'] as const;
export type ActionSurface = (typeof SURFACES)[number];

/** The programs that act in one workspace, on the authority of who started them. */
export const PROGRAMS = ['run', 'site', 'server', 'automation'] as const;

/** A program that calls. */
export interface CallingProgram {
  readonly kind: (typeof PROGRAMS)[number];
  readonly id: string;
}

/** Says why something may not be done after all, in a sentence; undefined where it may. It is asked at each call. */
export type Limit = (action: Pick<ActionDeclaration, 'name' | 'effect'>) => string | undefined;

/** What a caller may not do, whatever its actor may. */
interface CallerLimits {
  readonly allowlist?: ActionAllowlist;
  readonly limit?: Limit;
  /** The action that its person has just allowed. */
  readonly allowed?: string;
}

/** Who calls an action, by which way, and within which limits. */
export class ActionCaller {
  private constructor(
    /** On whose authority it is done. */
    readonly actor: Actor,
    readonly surface: ActionSurface,
    readonly kind: CallingProgram['kind'] | Credential['type'],
    readonly id: string,
    /** The one workspace that it acts in; null for wherever the actor may. */
    readonly workspaceId: string | null,
    private readonly limits: CallerLimits,
  ) {}

  /** A caller with their own credential; `allowed` names the action that their person was asked about. */
  static direct(actor: Actor, surface: ActionSurface, allowed?: string): ActionCaller {
    const { type: kind, id } = actor.credential;
    return new ActionCaller(actor, surface, kind, id, null, { allowed });
  }

  /**
   * A program that acts for `actor`, in one workspace and with the actions of its allowlist, within a further limit. 404
   * where the actor's own key does not reach there.
   */
  static program(
    { kind, id }: CallingProgram,
    surface: ActionSurface,
    limits: {
      actor: Actor;
      workspaceId: string;
      allowlist: ActionAllowlist;
      tokenId?: string;
      limit?: Limit;
      /** The lists of tools that limit a run, where they are known. */
      tools?: ActingRun['tools'];
    },
  ): ActionCaller {
    const run = kind === 'run' ? { id, tools: limits.tools ?? null } : undefined;
    const automation = kind === 'automation' ? { automation_run_id: id } : {};
    const actor = narrowed(limits.actor, limits.workspaceId, limits.tokenId ?? id, { run, ...automation });
    const { workspaceId, allowlist, limit } = limits;
    return new ActionCaller(actor, surface, kind, id, workspaceId, { allowlist, limit });
  }

  /** Whether it is a program, not a credential of the actor. */
  get isProgram(): boolean {
    return this.workspaceId !== null;
  }

  /** Why it may not run the action, whatever the actor may; undefined where it may, or may once its person was asked. */
  objection(declaration: ActionDeclaration): string | undefined {
    const { name, effect, permission, sessionOnly, personOnly } = declaration;
    if (sessionOnly && this.kind !== 'session')
      return `${name} takes your own sign-in; no key, service account, run or token can do it`;
    const { type, credential } = this.actor;
    if (personOnly && (type !== 'user' || credential.type === 'exec' || credential.type === 'oauth'))
      return `Only a person, signed in or by an API key, can run ${name}; no service account, run, token or application can`;
    const { allowlist } = this.limits;
    if (allowlist && !allowlist.allows({ name, effect })) return this.notNamed(name, effect);
    const limit = this.limits.limit?.({ name, effect });
    if (limit !== undefined) return limit;
    if (this.workspaceId !== null && !isWorkspacePermission(permission))
      return `This ${this.kind} acts in its workspace, and ${name} reaches beyond it`;
    return this.surface !== 'mcp' && this.isToAsk(declaration) ? forApplications(name) : undefined;
  }

  /** Whether its person is asked before it may: always, where an application would expose something. */
  isToAsk({ name, effect }: Pick<ActionDeclaration, 'name' | 'effect'>): boolean {
    return effect === 'expose' && isApplication(this.actor) && this.limits.allowed !== name;
  }

  /** Throws Forbidden with the objection, where there is one. */
  requireMayRun(declaration: ActionDeclaration): void {
    const { name } = declaration;
    const objection =
      this.objection(declaration) ?? (this.isToAsk(declaration) ? forApplications(name) : undefined);
    if (objection) throw new Forbidden(objection);
  }

  private notNamed(name: string, effect: Effect): string {
    const only = `this ${this.kind} may run it only where its allowlist names it in full`;
    if (effect === 'destructive') return `${name} is destructive: ${only}`;
    if (effect !== 'expose') return `This ${this.kind} may not run ${name}; its allowlist does not name it`;
    return this.surface === 'sandbox' ? `${name} ${EXPOSES}. ${ASK_A_PERSON}` : `${name} ${EXPOSES}: ${only}`;
  }
}

const EXPOSES = 'opens something to others or grants rights';

/** The refusal for a script that would do what needs a person's approval. */
export const ASK_A_PERSON =
  'A script cannot ask a person: let the agent call it with actions_run, so that one is asked';

/** The refusal for an application that would expose something where its person cannot be asked. */
export const forApplications = (name: string): string =>
  `${name} ${EXPOSES}: an application does that only through actions_write of /mcp, which asks its person first; or they do it themselves`;

/** The actor through a credential that sees one workspace alone, and has the scopes of the credential it comes from. */
function narrowed(
  actor: Actor,
  workspaceId: string,
  id: string,
  program: Pick<Credential, 'run' | 'automation_run_id'>,
): Actor {
  const { workspace_ids } = actor.credential;
  if (workspace_ids && !workspace_ids.includes(workspaceId)) throw new NotFound('No such workspace');
  const credential = {
    ...actor.credential,
    type: 'exec',
    id,
    workspace_ids: [workspaceId],
    ...program,
  } as const;
  return { ...actor, credential };
}
