import { Injectable, OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { fieldsOf, inputSchemaOf, outputSchemaOf, type Shape } from '#libs/fields/index.js';
import { type Actor, type Effect, scopeOf } from '../access/index.js';
import { providerMethods } from '../discovery/index.js';
import { checked } from '../dto/index.js';
import { Invalid, NotFound } from '../errors/index.js';
import { type ActionDeclaration, declarationOf } from './action.js';
import { ActionSearch } from './action-search.js';

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

/** Two methods declare the same capability: the service does not start. */
export class DuplicateAction extends Error {}

/** Every capability of the service, gathered at boot from what the services declare. */
@Injectable()
export class ActionCatalog implements OnModuleInit {
  private actions: ReadonlyMap<string, CatalogAction> = new Map();
  /** Made when it is first asked: it takes megabytes, and many processes never search. */
  private search: ActionSearch | undefined;

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  onModuleInit(): void {
    this.actions = this.discover();
  }

  /** Every action that any surface but plain HTTP may offer, by name. */
  list(): CatalogAction[] {
    return [...this.actions.values()];
  }

  /** Those that suit the words, the best first; all of them, by name, without words. */
  find(words: string | undefined): CatalogAction[] {
    if (!words?.trim()) return this.list();
    this.search ??= new ActionSearch(this.list());
    return this.search.find(words);
  }

  get(name: string): CatalogAction | undefined {
    return this.actions.get(name);
  }

  require(name: string): CatalogAction {
    const action = this.actions.get(name);
    if (!action) throw new NotFound(`There is no action ${name.slice(0, 64)}`);
    return action;
  }

  private discover(): Map<string, CatalogAction> {
    const found = new Map<string, CatalogAction>();
    for (const { instance, method } of providerMethods(this.discovery, this.scanner)) {
      const declaration = declarationOf(method);
      if (!declaration) continue;
      const { name } = declaration;
      if (found.has(name))
        throw new DuplicateAction(`Two methods declare the action ${name}; the second is ${method.name}`);
      found.set(name, new CatalogAction(declaration, instance, method));
    }
    const shown = [...found].filter(([, { declaration }]) => !declaration.restOnly);
    return new Map(shown.sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
