import type { Actor, Effect, WorkspacePermission } from '../../platform/access/index.js';
import type { ActionCaller } from '../../platform/actions/index.js';
import { LimitReached } from '../../platform/concurrency/index.js';
import { assertValid, hydrate } from '../../platform/dto/index.js';
import { problemOf } from '../../platform/errors/index.js';
import type { Shell } from '../../workspaces/sandboxes/index.js';

/** Where and for whom a tool runs. */
export interface ToolContext {
  readonly actor: Actor;
  readonly workspaceId: string;
  /** The agent's run that calls, where one does: its writes are the run's. */
  readonly runId?: string;
  readonly signal: AbortSignal;
  /** Aborted when the tool should come to an end soon, and give what it has: somebody waits to be heard. */
  readonly yieldSignal?: AbortSignal;
  /** Who the command `actions` acts as in a sandbox; absent: there is no such command. */
  readonly actions?: ActionCaller;
  /** The shell of the run, or of the caller, in which its commands run; absent: each has a sandbox of its own. */
  readonly shell?: Shell;
  /** Gets output while the tool runs, where it has any before its end. */
  readonly onOutput?: (text: string) => void;
}

/** What a tool gives back to a model, or to a person who ran it. */
export interface ToolResult {
  readonly output: string;
  readonly isError: boolean;
  /** Paths of the workspace that it is known to have changed. */
  readonly changed?: readonly string[];
  /** All of the output, where `output` is a shortened form of it. */
  readonly whole?: string;
  /** Whether it was the first command in the shell's session. */
  readonly newSession?: boolean;
}

/** A tool as a model is told of it. */
export interface ToolOffer {
  readonly name: string;
  /** What it does, when to use it, what to mind. */
  readonly description: string;
  /** JSON Schema of what it takes. */
  readonly schema: Readonly<Record<string, unknown>>;
}

/** Something that is done in a workspace, by agents and by whoever calls it as they do. */
export interface Tool<Input extends object = object> extends ToolOffer {
  /** What people call it. */
  readonly title: string;
  readonly effect: Effect;
  /** What whoever calls it must be allowed in the workspace. */
  readonly permission: WorkspacePermission;
  /** What it takes, of what somebody gave; throws Invalid (422) where that makes no sense. */
  check(input: unknown, workspaceId: string): Input;
  /** Why it cannot be used on this machine; null where it can. Absent: it always can. */
  fault?(): Promise<string | null>;
  run(context: ToolContext, input: Input): Promise<ToolResult>;
}

/** What a shape says a tool takes, checked. */
export function checked<T extends object>(shape: new () => T, input: unknown): T {
  const instance = hydrate(shape, input);
  assertValid(instance);
  return instance as T;
}

export const succeeded = (output: string, changed?: readonly string[]): ToolResult => ({
  output,
  isError: false,
  changed,
});
export const failed = (output: string): ToolResult => ({ output, isError: true });

/** What a tool refuses on its way is a result, as for an agent; what keeps us from running it is not: a caller may come again. */
export async function outcomeOf(work: Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work;
  } catch (error) {
    const problem = problemOf(error);
    if (!problem || problem.status >= 500 || problem instanceof LimitReached) throw error;
    return failed(problem.detail);
  }
}

/** Longest output that a model is given, in characters. */
export const MOST_OUTPUT = 50_000;

/** Keeps the beginning and the end of a long output, and says how much is missing between them. */
export function shorten(output: string, most = MOST_OUTPUT): string {
  if (output.length <= most) return output;
  const head = output.slice(0, most / 2).toWellFormed();
  const tail = output.slice(-most / 2).toWellFormed();
  return `${head}\n… ${output.length - most} characters left out …\n${tail}`;
}
