import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { Inject, Injectable } from '@nestjs/common';
import { AgentActions, type RunActions } from '../../platform/actions/agent-actions.js';
import { allows } from '../../platform/actions/allowlist.js';
import { jsonSchemaOf } from '../../platform/actions/json-schema.js';
import type { Row } from '../../platform/database/rows.js';
import { failed, Toolbox, type ToolResult } from '../../workspaces/index.js';
import type { Subagent } from '../subagents/subagent.js';
import { SubagentsService } from '../subagents/subagents.service.js';
import type { Run } from './run.entity.js';

/** Longest part of broken arguments that the model is shown again, in characters. */
const MOST_SHOWN = 500;

interface CallHooks {
  signal: AbortSignal;
  /** Aborted when the tool should come to an end soon, and give what it has. */
  yieldSignal: AbortSignal;
  onOutput: (text: string) => void;
}

/**
 * The tools of one run: what is offered to the model, and the only way to call them. An agent's allowlist is enforced
 * here, where tools run, and not only in what is offered.
 */
export class RunTools {
  readonly offered: readonly LanguageModelV4FunctionTool[];

  constructor(
    private readonly toolbox: Toolbox,
    private readonly run: Pick<Row<Run>, 'id' | 'actor' | 'workspace_id'>,
    readonly agent: Subagent | null,
    private readonly actions: RunActions | null,
  ) {
    const tools = run.workspace_id === null ? [] : toolbox.list().filter(({ name }) => this.allows(name));
    this.offered = [...tools, ...(actions?.tools ?? [])].map(({ name, description, input }) => {
      return { type: 'function', name, description, inputSchema: jsonSchemaOf(input) };
    });
  }

  /** Most model calls of the run, by the agent's own limit. */
  get mostSteps(): number {
    return this.agent?.maxSteps ?? Number.POSITIVE_INFINITY;
  }

  /** Runs a tool; what may not be called, or makes no sense, is answered to the model. */
  async call(tool: string, input: unknown, hooks: CallHooks): Promise<ToolResult> {
    const { id: runId, actor, workspace_id: workspaceId } = this.run;
    if (workspaceId === null) return failed('This chat has no workspace, so there are no tools');
    const isAction = this.actions?.offers(tool) === true;
    if (!isAction && !this.allows(tool)) return failed(this.refusal(tool));
    const fault = argumentFault(input);
    if (fault) return failed(fault);
    if (this.actions && isAction) return this.actions.call(tool, input);
    const context = { actor, workspaceId, runId, actions: this.actions?.inSandbox, ...hooks };
    return this.toolbox.run(context, tool, input);
  }

  private allows(tool: string): boolean {
    return this.agent === null || allows(this.agent.tools, tool);
  }

  private refusal(tool: string): string {
    const allowed = this.offered.map(({ name }) => name).join(', ') || 'no tool';
    return `The agent ${this.agent?.name} may not call ${tool}; it may call ${allowed}`;
  }
}

/** Opens the tools that a run may use. */
@Injectable()
export class ToolGateway {
  constructor(
    @Inject(Toolbox) private readonly toolbox: Toolbox,
    @Inject(SubagentsService) private readonly subagents: SubagentsService,
    @Inject(AgentActions) private readonly actions: AgentActions,
  ) {}

  async open(run: Row<Run>): Promise<RunTools> {
    const { id, actor, workspace_id, agent_name } = run;
    const agent =
      workspace_id && agent_name ? await this.subagents.require(actor, workspace_id, agent_name) : null;
    const actions =
      workspace_id === null
        ? null
        : this.actions.open({ id, actor, workspaceId: workspace_id }, agent ? agent.tools : null);
    return new RunTools(this.toolbox, run, agent, actions);
  }
}

/** What is wrong with arguments that are no JSON object; those that are not even JSON come as the text the model wrote. */
function argumentFault(input: unknown): string | undefined {
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return undefined;
  const text = typeof input === 'string' ? input : JSON.stringify(input);
  const shown = text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
  return `The arguments must be one JSON object. They were: ${shown}`;
}
