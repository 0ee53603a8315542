import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { Injectable } from '@nestjs/common';
import { CONNECTOR_TOOL } from '../../connections/connectors/index.js';
import { ActionCaller } from '../../platform/actions/index.js';
import { problemOf } from '../../platform/errors/index.js';
import { FileAuthors } from '../../workspaces/changes/index.js';
import { WorkspacesStore } from '../../workspaces/core/index.js';
import { SandboxesService, type Shell } from '../../workspaces/sandboxes/index.js';
import {
  ApprovalPolicies,
  ApprovalsStore,
  ApprovalWording,
  DEFAULT_POLICY,
  type PolicyWatch,
} from '../approvals/index.js';
import { AttachmentsService } from '../attachments/index.js';
import type { ToolCallRow } from '../chats/index.js';
import { QuestionsStore, QuestionViews } from '../questions/index.js';
import {
  type CallOutcome,
  type ExecutedRun,
  type PlannedCall,
  RunAuthority,
  RunFiles,
  type RunRow,
} from '../runs/index.js';
import { AgentFiles, AgentGuide, requireAgent } from '../subagents/index.js';
import {
  type AskedQuestion,
  BASH,
  BackgroundCommands,
  type CallHooks,
  type CallSubject,
  failed,
  LongOutputs,
  MAX_OUTPUT,
  type OpenTools,
  shorten,
  startedInReport,
  type ToolOffer,
  ToolProviders,
  type ToolResult,
} from '../tools/index.js';
import { CallGate, type GateVerdict, limitOfScripts } from './call-gate.js';
import { ReachableHosts } from './reachable-hosts.js';

/** Longest part of broken arguments that the model is shown again, in characters. */
const MAX_SHOWN = 500;

/** What a run has for its tools. */
interface Means {
  /** By the names that they answer to; those of the providers, and none without a workspace. */
  readonly tools: ReadonlyMap<string, () => OpenTools>;
  readonly offered: readonly ToolOffer[];
  readonly shell: Shell;
  readonly gate: CallGate;
  /** null where there is no workspace, and so no tools. */
  readonly policy: PolicyWatch | null;
  readonly longOutputs: LongOutputs;
  readonly attachments: AttachmentsService;
  readonly background: BackgroundCommands;
  readonly authority: RunAuthority;
  readonly wording: ApprovalWording;
  readonly questions: QuestionViews;
}

/**
 * The tools of one run: what is offered to the model, and the only way to call them. An agent's allowlist, and those of
 * the agents above it, are enforced here, where tools run, and not only in what is offered.
 */
export class RunTools {
  readonly offered: readonly LanguageModelV4FunctionTool[];

  constructor(
    private readonly run: Pick<RunRow, 'id' | 'actor' | 'workspace_id' | 'chat_id'>,
    readonly guide: AgentGuide,
    private readonly means: Means,
  ) {
    this.offered = means.offered.map(offer);
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
    return argumentFault(input) ? undefined : this.means.tools.get(tool)?.().questionOf?.(tool, input);
  }

  /** Where a person answers a question. */
  linkToQuestion(id: string): string {
    return this.means.questions.linkTo(id);
  }

  /** What a call does; undefined where it does nothing but say why it cannot be made, or hands over a task. */
  subjectOf({ tool, input }: PlannedCall): CallSubject | undefined {
    return argumentFault(input) ? undefined : this.means.tools.get(tool)?.().subjectOf?.(tool, input);
  }

  /** Writes down that a call was not let through, where it is one that is written down when it is made. */
  async refused(call: PlannedCall, reason: string): Promise<void> {
    if (this.subjectOf(call))
      await this.means.tools.get(call.tool)?.().refused?.(call.tool, call.input, reason);
  }

  /** What watchers read of a call of `name` about which people are asked: no secrets, and the page on which to decide. */
  wordsOn(approvalId: string, name: string, { input }: PlannedCall) {
    const { wording } = this.means;
    const shown = wording.inputOf({ subject_kind: 'run_tool_call', tool: name, input });
    return { summary: wording.of(name).summary, link: wording.linkTo(approvalId), input: shown };
  }

  /** What the calls of the run need. */
  get gate(): CallGate {
    return this.means.gate;
  }

  /** The policy holds as it stands by now. */
  async refreshPolicy(): Promise<void> {
    const { gate, policy } = this.means;
    if (policy) gate.goBy(await policy.now());
  }

  /**
   * Runs a tool; what may not be called, or makes no sense, is answered to the model. Throws AuthorityLost where who started
   * the run may not see its chat any more.
   */
  async call(tool: string, input: unknown, hooks: CallHooks): Promise<ToolResult | 'waits'> {
    await this.means.authority.requireAccess(this.run);
    if (this.run.workspace_id === null) return failed('This chat has no workspace, so there are no tools');
    const isOffered = this.offered.some(({ name }) => name === tool);
    if (!isOffered && !this.guide.allows(tool)) return failed(this.refusal(tool));
    const fault = argumentFault(input);
    if (fault) return failed(fault);
    const tools = this.means.tools.get(tool);
    if (tools) return tools().call(tool, input, hooks);
    return failed(`There is no tool ${tool}; there are ${this.offered.map(({ name }) => name).join(', ')}`);
  }

  /** A result as the model gets it: what is too long for it is in a file of the workspace. */
  async fit(call: Pick<PlannedCall, 'step' | 'position' | 'tool'>, result: ToolResult): Promise<CallOutcome> {
    const { images: shown = [], ...rest } = result;
    const { images: kept = [], ...fitting } = await this.fitText(call, rest);
    const images = [...shown, ...kept];
    const { workspace_id: workspaceId, chat_id } = this.run;
    if (images.length === 0 || workspaceId === null) return fitting;
    try {
      const attachments = await this.means.attachments.ofTool(chat_id, workspaceId, images);
      return { ...fitting, shown: { workspaceId, attachments } };
    } catch (error) {
      const problem = problemOf(error);
      if (!problem) throw error;
      return { ...fitting, output: `${fitting.output}\n(It cannot be shown: ${problem.detail})` };
    }
  }

  private async fitText(
    call: Pick<PlannedCall, 'step' | 'position' | 'tool'>,
    result: ToolResult,
  ): Promise<ToolResult> {
    const { whole = result.output, files = [], ...fitting } = result;
    if (whole.length <= MAX_OUTPUT && files.length === 0) return fitting;
    const { id: runId, actor, workspace_id: workspaceId } = this.run;
    if (workspaceId === null) return { ...fitting, output: shorten(result.output) };
    const place = { actor, workspaceId, runId, ...call };
    const { longOutputs } = this.means;
    const fitted = whole.length <= MAX_OUTPUT ? fitting : await longOutputs.fit(place, fitting, whole);
    return files.length === 0 ? fitted : longOutputs.withFiles(place, fitted, files);
  }

  /** Of a run that is resumed: what the commands among its earlier calls left is gone, and the result of the next one says so. */
  resume(earlier: readonly Pick<ToolCallRow, 'tool' | 'started_at' | 'output'>[]): void {
    const { shell, background } = this.means;
    const scripts = earlier.filter(({ tool, started_at }) => tool === BASH && started_at !== null);
    if (scripts.length === 0) return;
    shell.takeUp();
    background.of(shell, this.run.id).resume(scripts.flatMap(({ output }) => startedInReport(output ?? '')));
  }

  /** Ends what the run's commands left running. */
  close(): Promise<void> {
    this.means.policy?.close();
    return this.means.shell.end();
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
    private readonly agents: AgentFiles,
    private readonly sandboxes: SandboxesService,
    private readonly policies: ApprovalPolicies,
    private readonly approvals: ApprovalsStore,
    private readonly longOutputs: LongOutputs,
    private readonly background: BackgroundCommands,
    private readonly workspaces: WorkspacesStore,
    private readonly authors: FileAuthors,
    private readonly wording: ApprovalWording,
    private readonly questions: QuestionsStore,
    private readonly questionViews: QuestionViews,
    private readonly known: RunFiles,
    private readonly attachments: AttachmentsService,
    private readonly hosts: ReachableHosts,
    private readonly authority: RunAuthority,
  ) {}

  async open(run: ExecutedRun): Promise<RunTools> {
    const policy = run.workspace_id === null ? null : this.policies.watch(run.workspace_id);
    try {
      return await this.openUnder(policy, run);
    } catch (error) {
      policy?.close();
      throw error;
    }
  }

  private async openUnder(policy: PolicyWatch | null, run: ExecutedRun): Promise<RunTools> {
    const { id: runId, actor, workspace_id: workspaceId, loop_id: loopId, depth } = run;
    const [guide, gate, hosts] = await Promise.all([
      this.guide(run),
      this.gateOf(run, policy),
      workspaceId === null ? [] : this.hosts.of(workspaceId),
    ]);
    const { longOutputs, attachments, background, authority, wording, questionViews: questions } = this;
    const means = { gate, policy, longOutputs, attachments, background, authority, wording, questions };
    if (workspaceId === null) {
      const shell = this.sandboxes.openShell({ caller: { kind: 'run', id: runId } });
      return new RunTools(run, guide, { ...means, shell, tools: new Map(), offered: [] });
    }
    const isFileTheirs = await this.isFileTheirs(run, guide);
    const limit = limitOfScripts(run, guide, isFileTheirs, () => policy?.latest ?? DEFAULT_POLICY);
    const { actions: allowlist, allowlists: tools } = guide;
    const acting = ActionCaller.program({ kind: 'run', id: runId }, 'sandbox', {
      actor,
      workspaceId,
      allowlist,
      limit,
      tools,
    });
    const inSandbox = allowlist.isEmpty ? undefined : acting;
    const shell = this.sandboxes.openShell({
      caller: { kind: 'run', id: runId },
      actor: acting.actor,
      actions: inSandbox,
    });
    const opened = await this.providers.open({
      ...{ runId, actor, workspaceId, loopId, depth, guide, shell, inSandbox, isFileTheirs },
      ...{ known: this.known.of(runId), asksPeople: gate.asksPeople, reachesHosts: hosts.length > 0 },
    });
    const byName = new Map(opened.flatMap(({ names, tools }) => names.map(name => [name, tools] as const)));
    const offered = opened.flatMap(one => one.offered);
    return new RunTools(run, guide, { ...means, shell, tools: byName, offered });
  }

  /** Whether a person saved the file that says what the agent may; only of interest where it names an action, or a tool of a connector. */
  private async isFileTheirs(
    { actor, workspace_id, pinned }: ExecutedRun,
    { agent, file }: AgentGuide,
  ): Promise<boolean> {
    // Whoever deployed it was asked about that.
    if (pinned) return true;
    if (!workspace_id || !file || !agent?.tools.some(isNamedInFull)) return false;
    const workspace = await this.workspaces.require(actor, 'file.read', workspace_id);
    return this.authors.isSavedByPerson(workspace, file);
  }

  private async gateOf(run: ExecutedRun, watch: PolicyWatch | null): Promise<CallGate> {
    const { id, attempt } = run;
    const [policy, approvals, questions] = await Promise.all([
      watch?.now() ?? DEFAULT_POLICY,
      attempt > 1 ? this.approvals.ofRun(id) : [],
      attempt > 1 ? this.questions.ofRun(id) : [],
    ]);
    return new CallGate(policy, { approvals, questions }, run);
  }

  private async guide(run: ExecutedRun): Promise<AgentGuide> {
    const { actor, workspace_id, agent_name, tools_above, parent_id, pinned } = run;
    const isTask = parent_id !== null;
    if (workspace_id === null) return new AgentGuide(null, null, tools_above, isTask);
    const contents = await this.agents.read(actor, workspace_id);
    const agent = pinned ?? (agent_name ? requireAgent(contents.agents, agent_name) : null);
    return new AgentGuide(agent, contents, tools_above, isTask);
  }
}

/** What an agent's list names so that nobody is asked about it, where a person wrote the list. */
const isNamedInFull = (tool: string): boolean =>
  tool.startsWith('action:') || tool.startsWith(CONNECTOR_TOOL);

/** What is wrong with arguments that are no JSON object; those that are not even JSON come as the text the model wrote. */
function argumentFault(input: unknown): string | undefined {
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return undefined;
  const text = typeof input === 'string' ? input : JSON.stringify(input);
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  return `The arguments must be one JSON object. They were: ${shown}`;
}
