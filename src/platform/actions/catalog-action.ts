import { fieldsOf, inputSchemaOf, outputSchemaOf, type Shape } from '#libs/fields/index.js';
import { type Actor, type Effect, scopeOf } from '../access/index.js';
import { checked } from '../dto/index.js';
import { Invalid } from '../errors/index.js';
import type { ActionDeclaration } from './action.js';

/** An action as callers read it. */
export interface ActionDescription {
  name: string;
  title: string;
  summary: string;
  effect: Effect;
  input_schema: Record<string, unknown>;
  output_schema: Record<string, unknown>;
  permission: string | null;
  scopes: string[];
}

/** One capability: what is declared of it, and the method that does it. */
export class CatalogAction {
  private description: ActionDescription | undefined;

  constructor(
    readonly declaration: ActionDeclaration,
    private readonly service: object,
    private readonly method: (...args: unknown[]) => unknown,
  ) {}

  get name(): string {
    return this.declaration.name;
  }

  get title(): string {
    const words = this.name.replaceAll('_', ' ');
    return this.declaration.title ?? words.charAt(0).toUpperCase() + words.slice(1);
  }

  describe(): ActionDescription {
    this.description ??= this.compose();
    return this.description;
  }

  /** What it takes as a tool by itself. */
  get toolSchema(): Record<string, unknown> {
    const { input_schema: schema } = this.describe();
    const names = new Map(
      Object.entries(this.declaration.tool?.renamed ?? {}).map(([its, ours]) => [ours, its]),
    );
    const renamed = (name: string) => names.get(name) ?? name;
    const properties = Object.entries(schema.properties as object);
    return {
      ...schema,
      properties: Object.fromEntries(properties.map(([name, value]) => [renamed(name), value])),
      required: (schema.required as string[]).map(renamed),
    };
  }

  /** Its input, from the arguments of the tool. */
  ofTool(input: unknown): unknown {
    const { renamed } = this.declaration.tool ?? {};
    if (!renamed || typeof input !== 'object' || input === null || Array.isArray(input)) return input;
    return Object.fromEntries(Object.entries(input).map(([name, value]) => [renamed[name] ?? name, value]));
  }

  /**
   * The input as the method takes it, checked as over HTTP. `workspaceId` fills in the workspace that the caller did not
   * name, where the action takes one.
   */
  readInput(plain: unknown, workspaceId: string | null): object {
    const given = plain ?? {};
    if (typeof given !== 'object' || Array.isArray(given)) throw new Invalid('input must be a JSON object');
    const { input } = this.declaration;
    if (!input && Object.keys(given).length > 0) throw new Invalid(`${this.name} takes no input`);
    if (!input) return {};
    return checked(input, filledIn(input, given, workspaceId));
  }

  /** What the input names, as it was given: for what is written down about a call that is refused. */
  namesIn(plain: unknown, workspaceId: string | null): object {
    const { input } = this.declaration;
    const given = typeof plain === 'object' && plain !== null && !Array.isArray(plain) ? plain : {};
    return input ? filledIn(input, given, workspaceId) : given;
  }

  /** Does it, on the actor's authority; `signal` ends it where it can be cancelled. */
  invoke(actor: Actor, input: object, signal?: AbortSignal): unknown {
    const more = this.declaration.cancellable && signal ? [signal] : [];
    return this.method.call(this.service, actor, input, ...more);
  }

  private compose(): ActionDescription {
    const { name, summary, effect, input, output, permission } = this.declaration;
    return {
      name,
      title: this.title,
      summary,
      effect,
      input_schema: input ? inputSchemaOf(input) : NOTHING,
      output_schema: outputSchemaOf(output),
      permission,
      scopes: permission ? [scopeOf(permission)] : [],
    };
  }
}

function filledIn(input: Shape, given: object, workspaceId: string | null): object {
  if (workspaceId === null || !fieldsOf(input).has('workspace_id')) return given;
  const { workspace_id } = given as { workspace_id?: unknown };
  return { ...given, workspace_id: workspace_id ?? workspaceId };
}

const NOTHING = { type: 'object', properties: {}, additionalProperties: false };
