import { Injectable } from '@nestjs/common';
import type { Actor, Effect } from '../../platform/access/index.js';
import type { ActionCaller } from '../../platform/actions/index.js';
import type { VisibleWorkspace } from '../../workspaces/core/index.js';
import type { Shell } from '../../workspaces/sandboxes/index.js';
import { type AgentGuide, ToolNames } from '../subagents/index.js';
import type { ToolOffer, ToolResult } from './tool.js';

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
  /** How many runs are above it. */
  readonly depth: number;
  readonly guide: AgentGuide;
  /** In which its commands run. */
  readonly shell: Shell;
  /** Who the command `actions` acts as in its sandboxes. */
  readonly inSandbox: ActionCaller | undefined;
  /** A person saved the file that says what the agent may. */
  readonly isFileTheirs: boolean;
}

/** What a call comes with. */
export interface CallHooks {
  readonly signal: AbortSignal;
  /** Aborted when the tool should come to an end soon, and give what it has. */
  readonly yieldSignal: AbortSignal;
  readonly onOutput: (text: string) => void;
  /** Hands the call over to a run of its own; `waits` where that waits for people. */
  readonly handOver: () => Promise<ToolResult | 'waits'>;
}

/** What one provider has for one run. */
export interface OpenTools {
  /** What the model is told of. */
  readonly offered: readonly ToolOffer[];
  /** What a call does; undefined where there is nothing that a person could be asked about. */
  subjectOf?(tool: string, input: unknown): CallSubject | undefined;
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

/** Models are told of tools in this order, which stays the same as long as the tools do, so that providers can cache it. */
const KINDS = ['workspace', 'task', 'skill', 'action'] as const;

/** Something that has tools for agents. Each registers itself. */
export interface ToolProvider {
  readonly kind: (typeof KINDS)[number];
  /** All names that it answers to. */
  readonly names: readonly string[];
  list(view: ListScope): Promise<readonly ListedTool[]>;
  open(scope: ToolScope): OpenTools;
}

/** All that has tools for agents. */
@Injectable()
export class ToolProviders {
  private readonly all: ToolProvider[] = [];

  constructor(private readonly toolNames: ToolNames) {}

  register(provider: ToolProvider): void {
    this.all.push(provider);
    this.all.sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
    this.toolNames.add(() => provider.names);
  }

  async list(view: ListScope): Promise<ListedTool[]> {
    return (await Promise.all(this.all.map(provider => provider.list(view)))).flat();
  }

  /** What each has for a run, with the names that it answers to. */
  open(scope: ToolScope): { names: readonly string[]; tools: OpenTools }[] {
    return this.all.map(provider => ({ names: provider.names, tools: provider.open(scope) }));
  }
}
