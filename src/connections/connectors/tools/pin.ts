import { createHash } from 'node:crypto';
import { canonicalJson, NestedTooDeeply } from '#libs/canonical-json/index.js';

/** What is pinned of a tool: all that a model reads of it, and what a person decides by. */
export interface ToolDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, unknown>>;
}

/** A definition with its SHA-256, over its canonical JSON (RFC 8785). */
export interface Pin {
  readonly definition: ToolDefinition;
  readonly hash: string;
}

export const TOOL_EFFECTS = ['read', 'write', 'destructive'] as const;
export type ToolEffect = (typeof TOOL_EFFECTS)[number];

const MAX_NAME = 128;
const MAX_BYTES = 64 * 1024;

/** The name that a server gives a tool; undefined where it gives none. */
export const nameOf = (tool: unknown): string | undefined =>
  isObject(tool) && typeof tool.name === 'string' ? tool.name : undefined;

/**
 * The pin of what a server says of a tool; a sentence where it cannot be used. Parts that are only shown are left out where they have
 * not the form that they should.
 */
export function pinTool(tool: unknown): Pin | string {
  const name = nameOf(tool);
  if (!isObject(tool) || name === undefined) return 'it has no name';
  if (name.length === 0 || name.length > MAX_NAME || !name.isWellFormed() || name.includes('\0'))
    return `its name must have 1 to ${MAX_NAME} characters`;
  const inputSchema = inputSchemaOf(tool.inputSchema);
  if (typeof inputSchema === 'string') return inputSchema;
  const [title, description] = [tool.title, tool.description].map(each =>
    typeof each === 'string' ? each : undefined,
  );
  const [outputSchema, annotations] = [tool.outputSchema, tool.annotations].map(each =>
    isObject(each) ? each : undefined,
  );
  const definition = { name, title, description, inputSchema, outputSchema, annotations };
  try {
    const text = canonicalJson(definition);
    if (Buffer.byteLength(text) > MAX_BYTES) return `its definition has more than ${MAX_BYTES} bytes`;
    return { definition: JSON.parse(text), hash: createHash('sha256').update(text).digest('hex') };
  } catch (error) {
    if (error instanceof NestedTooDeeply) return 'its definition is nested too deeply';
    throw error;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The schema of a tool's input, which is an object also where the schema does not say so; a sentence where it is none. */
function inputSchemaOf(said: unknown): Record<string, unknown> | string {
  if (said === undefined || said === null || said === true) return { type: 'object' };
  if (!isObject(said)) return 'its inputSchema is no JSON Schema';
  const { type = 'object', ...rest } = said;
  const types: unknown[] = Array.isArray(type) ? type : [type];
  if (!types.includes('object'))
    return `its inputSchema has the type ${JSON.stringify(type).slice(0, 60)}, and the input of a tool is an object`;
  const kept = Object.entries(rest).filter(([, value]) => value !== null);
  return { type: 'object', ...Object.fromEntries(kept) };
}

const COMBINED = ['anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else', 'enum', '$ref'];

/** The schema as models take it, which have no combinations at the top: these are told as text. */
export function schemaForModels(schema: ToolDefinition['inputSchema']): ToolDefinition['inputSchema'] {
  const combined = Object.entries(schema).filter(([key]) => COMBINED.includes(key));
  if (combined.length === 0) return schema;
  const plain = Object.entries(schema).filter(([key]) => !COMBINED.includes(key));
  const also = `The input must also fit this JSON Schema: ${JSON.stringify(Object.fromEntries(combined))}`;
  const description = typeof schema.description === 'string' ? `${schema.description} ${also}` : also;
  return { properties: {}, ...Object.fromEntries(plain), description };
}

/** What the server says that a tool does. Nothing said means the worst, as the protocol has it. */
export function proposedEffect({ annotations = {} }: ToolDefinition): ToolEffect {
  if (annotations.readOnlyHint === true) return 'read';
  return annotations.destructiveHint === false ? 'write' : 'destructive';
}

/** The parts in which two definitions differ. */
export function differences(before: ToolDefinition, after: ToolDefinition): ToolDifference[] {
  const parts = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;
  return parts.flatMap(part => {
    const [was, is] = [before[part] ?? null, after[part] ?? null];
    return canonicalJson(was) === canonicalJson(is) ? [] : [{ part, before: was, after: is }];
  });
}

interface ToolDifference {
  readonly part: string;
  readonly before: unknown;
  readonly after: unknown;
}
