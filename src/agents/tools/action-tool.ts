import { isWorkspacePermission, type WorkspacePermission } from '../../platform/access/index.js';
import type { CatalogAction, ToolDeclaration } from '../../platform/actions/index.js';
import { Invalid } from '../../platform/errors/index.js';
import { shorten, type Tool, type ToolContext, type ToolResult } from './tool.js';

/** An action that agents have as a tool by itself, in the workspace that they work in. */
export class ActionTool implements Tool {
  readonly schema: Readonly<Record<string, unknown>>;

  constructor(
    private readonly action: CatalogAction,
    private readonly tool: ToolDeclaration & Pick<Required<ToolDeclaration>, 'agents'>,
  ) {
    const { workspace_id: _, ...own } = action.toolSchema.properties as Record<string, unknown>;
    const required = (action.toolSchema.required as string[]).filter(name => name !== 'workspace_id');
    this.schema = { ...action.toolSchema, properties: own, required };
  }

  /** Those of the catalog. */
  static allOf(actions: readonly CatalogAction[]): ActionTool[] {
    return actions.flatMap(action => {
      const { tool } = action.declaration;
      return tool?.agents ? [new ActionTool(action, { ...tool, agents: tool.agents })] : [];
    });
  }

  get name(): string {
    return this.tool.name;
  }

  get title(): string {
    return this.tool.title;
  }

  get description(): string {
    return this.tool.description;
  }

  get effect() {
    return this.action.declaration.effect;
  }

  get permission(): WorkspacePermission {
    const { permission } = this.action.declaration;
    if (!isWorkspacePermission(permission))
      throw new Error(`${this.name} takes no permission in a workspace`);
    return permission;
  }

  check(input: unknown, workspaceId: string): object {
    if (typeof input === 'object' && input !== null && 'workspace_id' in input)
      throw new Invalid('workspace_id is not a field of this tool');
    try {
      return this.action.readInput(this.action.ofTool(input), workspaceId);
    } catch (error) {
      throw error instanceof Invalid ? this.inItsWords(error) : error;
    }
  }

  /** The refusal, with the name that the tool has for the field. */
  private inItsWords({ detail }: Invalid): Invalid {
    const [its] =
      Object.entries(this.tool.renamed ?? {}).find(([, ours]) => detail.startsWith(`${ours} `)) ?? [];
    return new Invalid(its === undefined ? detail : detail.replace(/^\S+/, its));
  }

  async run({ actor, signal }: ToolContext, input: object): Promise<ToolResult> {
    const { text, changed, defaults } = this.tool.agents;
    const output = (await this.action.invoke(actor, { ...defaults, ...input }, signal)) as object;
    const whole = text(output);
    return { output: shorten(whole), whole, isError: false, changed: changed?.(output) };
  }
}
