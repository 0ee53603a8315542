import type { GetPromptResult, InputRequiredResult, Prompt } from '@modelcontextprotocol/server';
import { Inject, Injectable } from '@nestjs/common';
import { validate as isUuid } from 'uuid';
import { SubagentsService } from '../../../agents/subagents/index.js';
import type { Actor } from '../../../platform/access/index.js';
import { NotFound, problemOf } from '../../../platform/errors/index.js';
import { WorkspacesService } from '../../../workspaces/core/index.js';
import type { Dialogue } from '../call/mcp-call.js';
import { MCP_EXTENSION, type McpExtension } from '../call/mcp-tool.js';

const WORKSPACES_AT_ONCE = 20;
const TASK = { name: 'task', description: 'What it is to do', required: false };

/** The subagents of the workspaces that the caller sees, as prompts: `<agent>@<workspace id>`. */
@Injectable()
export class McpPrompts {
  constructor(
    private readonly workspaces: WorkspacesService,
    private readonly subagents: SubagentsService,
    @Inject(MCP_EXTENSION) private readonly extension: McpExtension,
  ) {}

  /** Those that can be used, some workspaces at a time. */
  async list(actor: Actor, cursor: string | undefined): Promise<{ prompts: Prompt[]; nextCursor?: string }> {
    const page = await this.workspaces.list(actor, { limit: WORKSPACES_AT_ONCE, cursor });
    const lists = await Promise.all(page.items.map(workspace => this.agentsIn(actor, workspace)));
    const others = cursor === undefined ? this.extension.prompts : [];
    return {
      prompts: [...others, ...lists.flat()],
      ...(page.next_cursor ? { nextCursor: page.next_cursor } : {}),
    };
  }

  /** Throws NotFound where the caller sees no such agent. */
  async get(
    actor: Actor,
    name: string,
    input: Record<string, string>,
    dialogue: Dialogue,
  ): Promise<GetPromptResult | InputRequiredResult> {
    const other = this.extension.getPrompt(name, input, dialogue);
    if (other) return other;
    const at = name.lastIndexOf('@');
    const workspaceId = name.slice(at + 1);
    if (at < 1 || !isUuid(workspaceId)) throw new NotFound(`There is no prompt ${name.slice(0, 100)}`);
    const { description, instructions } = await this.subagents.require(actor, workspaceId, name.slice(0, at));
    const text = [instructions, input.task].filter(Boolean).join('\n\n');
    return { description, messages: [{ role: 'user', content: { type: 'text', text } }] };
  }

  /** None for a credential that may see the workspace and not its files. */
  private async agentsIn(
    actor: Actor,
    { id, name: workspace }: { id: string; name: string },
  ): Promise<Prompt[]> {
    try {
      const { items } = await this.subagents.list(actor, { workspace_id: id });
      return items
        .filter(({ valid }) => valid)
        .map(({ name, description }) => ({
          name: `${name}@${id}`,
          title: `${name} (${workspace})`,
          description,
          arguments: [TASK],
        }));
    } catch (error) {
      if (problemOf(error)) return [];
      throw error;
    }
  }
}
