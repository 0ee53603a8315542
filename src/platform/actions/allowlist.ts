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
