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

/** The pin of what a server says of a tool; a sentence where it cannot be used. */
export function pinOf({ name, title, description, ...tool }: ToolDefinition): Pin | string {
  const { inputSchema, outputSchema, annotations } = tool;
  if (name.length === 0 || name.length > MAX_NAME || !name.isWellFormed() || name.includes('\0'))
    return `its name must have 1 to ${MAX_NAME} characters`;
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
