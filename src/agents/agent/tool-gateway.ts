import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { Inject, Injectable } from '@nestjs/common';
import { jsonSchemaOf } from '../../platform/actions/json-schema.js';
import type { Row } from '../../platform/database/rows.js';
import { failed, Toolbox, type ToolResult } from '../../workspaces/index.js';
import { allows, type Subagent } from '../subagents/subagent.js';
import { SubagentsService } from '../subagents/subagents.service.js';
import type { Run } from './run.entity.js';

interface CallHooks {
  signal: AbortSignal;
  onOutput: (text: string) => void;
}

/** The tools of one run: what is offered to the model, and the only way to call them. */
export interface RunTools {
  readonly agent: Subagent | null;
  readonly offered: LanguageModelV4FunctionTool[];
  /** Most model calls of the run, by the agent's own limit. */
  readonly mostSteps: number;
  call(tool: string, input: unknown, hooks: CallHooks): Promise<ToolResult>;
}

/** Decides what a run may call. An agent's allowlist is enforced here, where tools run, and not only in what is offered. */
@Injectable()
export class ToolGateway {
  constructor(
    @Inject(Toolbox) private readonly toolbox: Toolbox,
    @Inject(SubagentsService) private readonly subagents: SubagentsService,
  ) {}

  async open({ actor, workspace_id, agent_name }: Row<Run>): Promise<RunTools> {
    const agent = workspace_id && agent_name ? await this.subagents.require(actor, workspace_id, agent_name) : null;
    const allowed = (name: string) => workspace_id !== null && (agent === null || allows(agent.tools, name));
    const offered = this.toolbox.list().filter(({ name }) => allowed(name)).map(tool => ({
      type: 'function' as const,
      name: tool.name,
      description: tool.description,
      inputSchema: jsonSchemaOf(tool.input),
    }));
    const call = async (tool: string, input: unknown, hooks: CallHooks): Promise<ToolResult> => {
      const invalid = invalidArguments(input);
      if (invalid !== undefined) return failed(`The arguments are not valid: ${invalid}`);
      if (workspace_id === null) return failed('This chat has no workspace, so there are no tools');
      if (!allowed(tool)) return failed(`${agent ? `The agent ${agent.name}` : 'This run'} may not call ${tool}; it may call ${offered.map(({ name }) => name).join(', ') || 'no tool'}`);
      return this.toolbox.run({ actor, workspaceId: workspace_id, ...hooks }, tool, input);
    };
    return { agent, offered, mostSteps: agent?.maxSteps ?? Number.POSITIVE_INFINITY, call };
  }
}

/** What was wrong with arguments that were no JSON object, as the loop wrote it down. */
function invalidArguments(input: unknown): string | undefined {
  if (typeof input !== 'object' || input === null) return 'they must be a JSON object';
  const keys = Object.keys(input);
  return keys.length === 1 && keys[0] === 'invalid' ? String((input as { invalid: unknown }).invalid) : undefined;
}
