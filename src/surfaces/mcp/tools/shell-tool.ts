import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import { validate as isUuid } from 'uuid';
import { cutText } from '#libs/bounded-json/index.js';
import { textOf } from '#libs/exact-json/index.js';
import { inputSchemaOf, outputSchemaOf, undescribed } from '#libs/fields/index.js';
import {
  BASH,
  SESSION_NAME,
  type SessionCommands,
  type Toolbox,
  type Tool as WorkspaceTool,
} from '../../../agents/tools/index.js';
import { ActionCaller, type ActionRunner } from '../../../platform/actions/index.js';
import { checked, Field } from '../../../platform/dto/index.js';
import { Invalid } from '../../../platform/errors/index.js';
import type { WorkspacesStore } from '../../../workspaces/core/index.js';
import type { Dialogue, McpCall } from '../call/mcp-call.js';
import { HINTS, MAX_CHARACTERS, type McpTool } from '../call/mcp-tool.js';

const MAX_MESSAGE = 1_000;

class InWorkspace {
  @Field.id('The workspace') workspace_id: string;
}

class InSession extends InWorkspace {
  @Field.text('A session of yours, begun by its first command, in which commands share a sandbox', {
    ...SESSION_NAME,
    optional: true,
  })
  session?: string;
}

class InOpenSession extends InWorkspace {
  @Field.text('The session in which it runs', { max: 64 }) session: string;
}

class ToolOutput {
  @Field.text('What it gave back', { max: 100_000 }) output: string;
}

/** What they are run with. */
interface ShellParts {
  readonly toolbox: Toolbox;
  readonly sessions: SessionCommands;
  readonly runner: ActionRunner;
  readonly workspaces: WorkspacesStore;
}

/** bash and what belongs to it, in the workspace and the session that the input names; each call is in the ledger. */
export class ShellTool implements McpTool {
  readonly toolset = 'code';
  readonly definition: McpTool['definition'];

  constructor(
    private readonly parts: ShellParts,
    private readonly tool: WorkspaceTool,
  ) {
    const { name, title, description, schema: own } = tool;
    const place = inputSchemaOf(name === BASH ? InSession : InOpenSession);
    this.definition = {
      name,
      title,
      description,
      inputSchema: {
        ...own,
        properties: { ...(place.properties as object), ...(own.properties as object) },
        required: [...(place.required as string[]), ...(own.required as string[])],
      } as Tool['inputSchema'],
      outputSchema: undescribed(outputSchemaOf(ToolOutput)) as Tool['outputSchema'],
      annotations: { title, ...HINTS[tool.effect === 'read' ? 'advance' : 'change'] },
    };
  }

  permissions() {
    return [this.tool.permission];
  }

  async call(
    { actor, signal }: McpCall,
    given: Record<string, unknown>,
    { progressToken, notify }: Dialogue,
  ): Promise<CallToolResult> {
    const { workspace_id, session, ...input } = given;
    const workspaceId = textOf(workspace_id);
    const onOutput = progressToken === undefined ? undefined : progressOf(progressToken, notify);
    const { toolbox, sessions, runner, workspaces } = this.parts;
    const { name, permission, effect } = this.tool;
    const what = {
      action: { name, declaration: { effect, input: null, output: ToolOutput } },
      input: given,
      workspaceId,
      tenantOf: async () => {
        if (workspace_id === undefined) throw new Invalid('workspace_id is required');
        if (!isUuid(workspace_id)) throw new Invalid('workspace_id must be a UUID');
        checked(name === BASH ? InSession : InOpenSession, { workspace_id, session });
        this.tool.check(input, workspaceId);
        const { id, organization_id } = await workspaces.require(actor, permission, workspaceId);
        return { organization_id, workspace_id: id };
      },
    };
    const { output, isError } = await runner.recorded(ActionCaller.direct(actor, 'mcp'), what, () =>
      typeof session === 'string'
        ? sessions.run(
            { actor, workspaceId, session, tool: name, input: this.tool.check(input, workspaceId) },
            { signal, onOutput },
          )
        : toolbox.run({ actor, workspaceId, signal, onOutput }, name, input),
    );
    const text = cutText(output, MAX_CHARACTERS / 2);
    return { content: [{ type: 'text', text }], structuredContent: { output: text }, isError };
  }
}

/** Tells a client that wants to know what comes out while the tool runs; `progress` counts its characters. */
function progressOf(progressToken: string | number, notify: Dialogue['notify']): (text: string) => void {
  let progress = 0;
  return text => {
    progress += text.length;
    const params = { progressToken, progress, message: text.slice(-MAX_MESSAGE).toWellFormed() };
    // A client that has gone is noticed by the call itself.
    notify({ method: 'notifications/progress', params }).catch(() => undefined);
  };
}
