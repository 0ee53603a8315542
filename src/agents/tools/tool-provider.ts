import { LimitReached } from '#libs/concurrency-limit/index.js';
import type { Actor, Effect, WorkspacePermission } from '../../platform/access/index.js';
import type { ActionCaller, ToolImage } from '../../platform/actions/index.js';
import { problemOf } from '../../platform/errors/index.js';
import type { VisibleWorkspace } from '../../workspaces/core/index.js';
import type { KnownFile, KnownFiles } from '../../workspaces/files/index.js';
import type { Shell } from '../../workspaces/sandboxes/index.js';
import type { PlanStep } from '../plans/index.js';
import type { AgentGuide } from '../subagents/index.js';
import type { FieldWords } from './lean-schema.js';

/** Where and for whom a tool runs. */
export interface ToolContext {
  readonly actor: Actor;
  readonly workspaceId: string;
  /** The agent's run that calls, where one does: its writes are the run's. */
  readonly runId?: string;
  /** What that run has seen of files. */
  readonly known?: KnownFiles;
  readonly signal: AbortSignal;
  /** Aborted when the tool should end soon with what it has: a message waits. */
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
  /** Files as the call has read or written them. */
  readonly seen?: readonly KnownFile[];
  /** What it shows beside its output. */
  readonly images?: readonly ToolImage[];
  /** All of the output, where `output` is a shortened form of it. */
  readonly whole?: string;
  /** The plan that the run has from now on. */
  readonly plan?: readonly PlanStep[];
  /** The exit code of a script that ended by itself. */
  readonly exitCode?: number;
  /** The folder in which the next script of the shell begins. */
  readonly workingDirectory?: string;
  /** The command that goes on in the background. */
  readonly commandId?: string;
  /** What is no text; it is kept in files of the workspace. */
  readonly files?: readonly OutputFile[];
  /** Whether it was the first command in the shell's session. */
  readonly newSession?: boolean;
}

/** A file that a tool answers with. */
export interface OutputFile {
  readonly name: string;
  readonly bytes: Buffer;
}

/** A tool as models see it. */
export interface ToolOffer {
  readonly name: string;
  /** What it does, when to use it, what to mind. */
  readonly description: string;
  /** JSON Schema of what it takes. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** What a model in a run reads instead, whose prompt says the rest: each request has it. */
  readonly brief?: string;
  /** The fields that such a model is told of; absent: all. */
  readonly told?: FieldWords;
}

/** Something that agents, people and programs can do in a workspace. */
export interface Tool<Input extends object = object> extends ToolOffer {
  /** What people call it. */
  readonly title: string;
  readonly effect: Effect;
  /** The permission that calling it takes in the workspace. */
  readonly permission: WorkspacePermission;
  /** The input, checked; throws Invalid (422) where it makes no sense. */
  check(input: unknown, workspaceId: string): Input;
  /** Whether a run may have use for it; absent: every run. It answers all the same. */
  isOffered?(scope: ToolScope): boolean;
  /** Why it cannot be used on this machine; null where it can. Absent: it always can. */
  fault?(): Promise<string | null>;
  run(context: ToolContext, input: Input): Promise<ToolResult>;
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
    if (!problem || problem.status >= 500 || error instanceof LimitReached) throw error;
    return failed(problem.detail);
  }
}

/** Longest output that a model is given, in characters. */
export const MAX_OUTPUT = 50_000;

/** Keeps the beginning and the end of a long output, and says how much is missing between them. */
export function shorten(output: string, most = MAX_OUTPUT): string {
  if (output.length <= most) return output;
  const head = output.slice(0, most / 2).toWellFormed();
  const tail = output.slice(-most / 2).toWellFormed();
  return `${head}\n… ${output.length - most} characters left out …\n${tail}`;
}

/** What a call does, as far as it matters to whether it may be made. */
export interface CallSubject {
  /** The tool; where `actions_run` runs one, the action. */
  readonly name: string;
  readonly effect: Effect;
  /** The agent's own file names it in full, and a person saved that. */
  readonly isNamed: boolean;
}

/** The run for which tools are opened. */
export interface ToolScope {
  readonly runId: string;
  readonly actor: Actor;
  readonly workspaceId: string;
  /** The loop of which the run is an iteration; null for others, and for tasks of one. */
  readonly loopId: string | null;
  /** How many runs are above it. */
  readonly depth: number;
  readonly guide: AgentGuide;
  /** In which its commands run. */
  readonly shell: Shell;
  /** Who the command `actions` acts as in its sandboxes. */
  readonly inSandbox: ActionCaller | undefined;
  /** A person saved the file that says what the agent may. */
  readonly isFileTheirs: boolean;
  /** Whether a person is there to be asked. */
  readonly asksPeople: boolean;
  /** Whether its workspace reaches any host. */
  readonly reachesHosts: boolean;
  /** What the run knows of files. */
  readonly known: RunKnowledge;
}

/** What a run knows of files. */
export interface RunKnowledge {
  /** For one call, whose own part of it is in `files`. */
  ofCall(): KnownFiles & { readonly files: readonly KnownFile[] };
}

/** What a call asks a person; the run waits for the answer before the call is made. */
export interface AskedQuestion {
  readonly question: string;
  readonly choices: readonly { readonly label: string; readonly description?: string | null }[];
  readonly multiple: boolean;
  readonly allow_text: boolean;
}

/** What a call comes with. */
export interface CallHooks {
  /** Which call of the run it is. */
  readonly place: { readonly step: number; readonly position: number };
  readonly signal: AbortSignal;
  /** Aborted when the tool should come to an end soon, and give what it has. */
  readonly yieldSignal: AbortSignal;
  readonly onOutput: (text: string) => void;
  /** Hands the call over to a run of its own; `waits` where that waits for people. */
  readonly handOver: () => Promise<ToolResult | 'waits'>;
}

/** What one provider has for one run. */
export interface OpenTools {
  /** What models see. */
  readonly offered: readonly ToolOffer[];
  /** What a call does; undefined where there is nothing that a person could be asked about. */
  subjectOf?(tool: string, input: unknown): CallSubject | undefined;
  /** What a person is asked before the call is made; undefined where it asks nothing. */
  questionOf?(tool: string, input: unknown): AskedQuestion | undefined;
  /** Answers a call by one of its names, offered or not. */
  call(tool: string, input: unknown, hooks: CallHooks): Promise<ToolResult | 'waits'>;
  /** A call was not let through, with these words. */
  refused?(tool: string, input: unknown, reason: string): Promise<void>;
}

/** In which workspace, and for whom, tools are listed. */
export interface ListScope {
  readonly actor: Actor;
  readonly workspace: VisibleWorkspace;
  readonly guide: AgentGuide;
}

/** A tool that agents can have, and why not where they cannot. */
export interface ListedTool extends ToolOffer {
  readonly effect: Effect;
  readonly reason: string | null;
  /** Only agents can call it. */
  readonly agentsOnly: boolean;
  /** Whether an entry of an agent's list lets it have the tool; absent: by its name. */
  readonly allowedBy?: (pattern: string) => boolean;
}

/** Models see tools in this order, which stays the same as long as the tools do, so that providers can cache it. */
export const KINDS = ['workspace', 'plan', 'ask', 'task', 'skill', 'action', 'connector'] as const;

/** Something that has tools for agents. Each registers itself. */
export interface ToolProvider {
  readonly kind: (typeof KINDS)[number];
  /** All names that it answers to. */
  readonly names: readonly string[];
  /** Of its guide, what a run must have to be offered these tools. */
  readonly needs?: 'actions' | 'colleagues' | 'skills';
  /** What models see, where that is the same for every run; it is opened when it is called then. */
  readonly offered?: readonly ToolOffer[];
  list(view: ListScope): Promise<readonly ListedTool[]>;
  open(scope: ToolScope): OpenTools;
  /** The tools of one run, and all names that they answer to, where both are up to what is stored; instead of `open`. */
  prepare?(
    scope: ToolScope,
  ): Promise<{ readonly names: readonly string[]; readonly tools: OpenTools } | undefined>;
}
