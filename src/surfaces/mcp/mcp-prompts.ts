import type { GetPromptResult, InputRequiredResult, Prompt } from '@modelcontextprotocol/server';
import { Inject, Injectable } from '@nestjs/common';
import { validate as isUuid } from 'uuid';
import { SubagentsService } from '../../agents/index.js';
import type { Actor } from '../../platform/access/actor.js';
import { NotFound, problemOf } from '../../platform/http/problem.js';
import { FilesService, WorkspacesService } from '../../workspaces/index.js';
import type { Dialogue } from './mcp-call.js';
import { MCP_EXTENSION, type McpExtension } from './mcp-extension.js';

const WORKSPACES_AT_ONCE = 20;
const FILES_OF_EACH = 50;
/** Where a workspace keeps its agents. */
const FOLDERS = ['.agents', '.agents/agents'];
const TASK = { name: 'task', description: 'What it is to do', required: false };

/** The subagents of the workspaces that the caller sees, as prompts: `<agent>@<workspace id>`. */
@Injectable()
export class McpPrompts {
  constructor(
    @Inject(WorkspacesService) private readonly workspaces: WorkspacesService,
    @Inject(FilesService) private readonly files: FilesService,
    @Inject(SubagentsService) private readonly subagents: SubagentsService,
    @Inject(MCP_EXTENSION) private readonly extension: McpExtension,
  ) {}

  /** Agents that are called as their files are, some workspaces at a time. */
  async list(actor: Actor, cursor: string | undefined): Promise<{ prompts: Prompt[]; nextCursor?: string }> {
    const page = await this.workspaces.list(actor, { limit: WORKSPACES_AT_ONCE, cursor });
    const lists = await Promise.all(
      page.items.map(async ({ id, name }) => {
        const prompts: Prompt[] = [];
        for (const agent of await this.agentsIn(actor, id))
          prompts.push({ ...agent, name: `${agent.name}@${id}`, title: `${agent.name} (${name})` });
        return prompts;
      }),
    );
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

  private async agentsIn(actor: Actor, workspaceId: string): Promise<Prompt[]> {
    const names = new Set<string>();
    for (const folder of FOLDERS)
      for (const path of (await this.filesIn(actor, workspaceId, folder)) ?? [])
        if (path.endsWith('.md')) names.add(path.slice(folder.length + 1, -'.md'.length));
    const found = [...names].sort().map(name => this.describe(actor, workspaceId, name));
    return (await Promise.all(found)).flatMap(prompt => prompt ?? []);
  }

  /** Undefined where there is no such folder, or the credential does not reach it. */
  private filesIn(actor: Actor, workspace_id: string, path: string): Promise<string[] | undefined> {
    return orUndefined(async () => {
      const { items } = await this.files.list(actor, { workspace_id, path, limit: FILES_OF_EACH });
      return items.filter(({ type }) => type === 'file').map(entry => entry.path);
    });
  }

  /** Undefined for a file that is no valid agent, or one that is called otherwise. */
  private describe(actor: Actor, workspaceId: string, name: string): Promise<Prompt | undefined> {
    return orUndefined(async () => {
      const { description } = await this.subagents.require(actor, workspaceId, name);
      return { name, description, arguments: [TASK] };
    });
  }
}

async function orUndefined<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (problemOf(error)) return undefined;
    throw error;
  }
}
