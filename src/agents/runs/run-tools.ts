import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { Injectable } from '@nestjs/common';
import { ActionCaller } from '../../platform/actions/index.js';
import { SandboxesService, type Shell } from '../../workspaces/sandboxes/index.js';
import type { ToolCallRow } from '../chats/index.js';
import type { AgentGuide } from '../subagents/index.js';
import {
  type AskedQuestion,
  BASH,
  BackgroundCommands,
  type CallHooks,
  type CallSubject,
  failed,
  type OpenedProvider,
  type OpenTools,
  startedInReport,
  type ToolOffer,
  ToolProviders,
  type ToolResult,
} from '../tools/index.js';
import { type CallGate, CallGates, type GateVerdict, limitOfScripts } from './call-gate.js';
import { ReachableHosts } from './reachable-hosts.js';
import { RunFiles } from './run-files.store.js';
import { RunGuides } from './run-guides.js';
import type { ExecutedRun } from './run-queue.store.js';
import type { PlannedCall, RunRow } from './run-state.js';

/** Longest part of broken arguments that the model is shown again, in characters. */
const MAX_SHOWN = 500;

/**
 * The tools of one run: what is offered to the model, and the only way to call them. An agent's allowlist, and those of
 * the agents above it, are enforced here, where tools run, and not only in what is offered.
 */
export class RunTools {
  readonly offered: readonly LanguageModelV4FunctionTool[];
  /** By the names that they answer to; none without a workspace. */
  private readonly byName: ReadonlyMap<string, () => OpenTools>;

  constructor(
    private readonly run: Pick<RunRow, 'id' | 'workspace_id'>,
    readonly guide: AgentGuide,
    /** What the calls of the run need. */
    readonly gate: CallGate,
    private readonly shell: Shell,
    private readonly background: BackgroundCommands,
    opened: readonly OpenedProvider[],
  ) {
    this.byName = new Map(opened.flatMap(({ names, tools }) => names.map(name => [name, tools] as const)));
    this.offered = opened.flatMap(one => one.offered.map(offer));
  }

  /** Most model calls of the run, by the agent's own limit. */
  get maxSteps(): number {
    return this.guide.agent?.maxSteps ?? Number.POSITIVE_INFINITY;
  }

  /** What is to be done about a call; one that makes no sense is made, which says so. */
  verdict(call: PlannedCall): GateVerdict {
    if (this.questionOf(call)) return this.gate.verdictOnQuestion(call);
    const subject = this.subjectOf(call);
    return subject ? this.gate.verdict(call, subject) : 'make';
  }

  /** What a call asks a person. */
  questionOf({ tool, input }: PlannedCall): AskedQuestion | undefined {
    return argumentFault(input) ? undefined : this.byName.get(tool)?.().questionOf?.(tool, input);
  }

  /** What a call does; undefined where it does nothing but say why it cannot be made, or hands over a task. */
  subjectOf({ tool, input }: PlannedCall): CallSubject | undefined {
    return argumentFault(input) ? undefined : this.byName.get(tool)?.().subjectOf?.(tool, input);
  }

  /** Writes down that a call was not let through, where it is one that is written down when it is made. */
  async refused(call: PlannedCall, reason: string): Promise<void> {
    if (this.subjectOf(call)) await this.byName.get(call.tool)?.().refused?.(call.tool, call.input, reason);
  }

  /** Runs a tool; what may not be called, or makes no sense, is answered to the model. */
  async call(tool: string, input: unknown, hooks: CallHooks): Promise<ToolResult | 'waits'> {
    if (this.run.workspace_id === null) return failed('This chat has no workspace, so there are no tools');
    const isOffered = this.offered.some(({ name }) => name === tool);
    if (!isOffered && !this.guide.allows(tool)) return failed(this.refusal(tool));
    const fault = argumentFault(input);
    if (fault) return failed(fault);
    const tools = this.byName.get(tool);
    if (tools) return tools().call(tool, input, hooks);
    return failed(`There is no tool ${tool}; there are ${this.offered.map(({ name }) => name).join(', ')}`);
  }

  /** Of a run that is resumed: what the commands among its earlier calls left is gone, and the result of the next one says so. */
  resume(earlier: readonly Pick<ToolCallRow, 'tool' | 'started_at' | 'output'>[]): void {
    const scripts = earlier.filter(({ tool, started_at }) => tool === BASH && started_at !== null);
    if (scripts.length === 0) return;
    this.shell.takeUp();
    const commands = this.background.of(this.shell, this.run.id);
    commands.resume(scripts.flatMap(({ output }) => startedInReport(output ?? '')));
  }

  /** Ends what the run's commands left running. */
  close(): Promise<void> {
    this.gate.close();
    return this.shell.end();
  }

  private refusal(tool: string): string {
    const allowed = this.offered.map(({ name }) => name).join(', ') || 'no tool';
    return `The agent ${this.guide.agent?.name ?? 'of this task'} may not call ${tool}; it may call ${allowed}`;
  }
}

/** Offers as models take them: most are the same in every run. */
const offers = new WeakMap<ToolOffer, LanguageModelV4FunctionTool>();

function offer(tool: ToolOffer): LanguageModelV4FunctionTool {
  const known = offers.get(tool);
  if (known) return known;
  const { name, description, schema: inputSchema } = tool;
  const made = { type: 'function', name, description, inputSchema } as const;
  offers.set(tool, made);
  return made;
}

/** Opens the tools that a run may use. */
@Injectable()
export class ToolGateway {
  constructor(
    private readonly providers: ToolProviders,
    private readonly sandboxes: SandboxesService,
    private readonly guides: RunGuides,
    private readonly gates: CallGates,
    private readonly hosts: ReachableHosts,
    private readonly known: RunFiles,
    private readonly background: BackgroundCommands,
  ) {}

  async open(run: ExecutedRun): Promise<RunTools> {
    const gate = this.gates.open(run);
    try {
      return await this.openBehind(gate, run);
    } catch (error) {
      gate.close();
      throw error;
    }
  }

  private async openBehind(gate: CallGate, run: ExecutedRun): Promise<RunTools> {
    const { id: runId, actor, workspace_id: workspaceId, loop_id: loopId, depth } = run;
    const [guide, hosts] = await Promise.all([
      this.guides.of(run),
      workspaceId === null ? [] : this.hosts.of(workspaceId),
      this.gates.recall(gate, run),
    ]);
    const caller = { kind: 'run', id: runId } as const;
    if (workspaceId === null)
      return new RunTools(run, guide, gate, this.sandboxes.openShell({ caller }), this.background, []);
    const isFileTheirs = await this.guides.isFileTheirs(run, guide);
    const limit = limitOfScripts(run, guide, isFileTheirs, () => gate.latestPolicy);
    const { actions: allowlist, allowlists: tools } = guide;
    const acting = ActionCaller.program(caller, 'sandbox', { actor, workspaceId, allowlist, limit, tools });
    const inSandbox = allowlist.isEmpty ? undefined : acting;
    const shell = this.sandboxes.openShell({ caller, actor: acting.actor, actions: inSandbox });
    const opened = await this.providers.open({
      runId,
      actor,
      workspaceId,
      loopId,
      depth,
      guide,
      shell,
      inSandbox,
      isFileTheirs,
      known: this.known.of(runId),
      asksPeople: gate.asksPeople,
      reachesHosts: hosts.length > 0,
    });
    return new RunTools(run, guide, gate, shell, this.background, opened);
  }
}

/** What is wrong with arguments that are no JSON object; those that are not even JSON come as the text the model wrote. */
function argumentFault(input: unknown): string | undefined {
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return undefined;
  const text = typeof input === 'string' ? input : JSON.stringify(input);
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  return `The arguments must be one JSON object. They were: ${shown}`;
}
