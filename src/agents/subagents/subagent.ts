import { parse } from 'yaml';

/** An agent defined in a workspace: its instructions, and what limits it. */
export interface Subagent {
  readonly name: string;
  readonly description: string;
  /** Names or globs of the tools it may call. */
  readonly tools: readonly string[];
  readonly model: string | null;
  readonly maxSteps: number | null;
  readonly instructions: string;
}

/** What an agent may call when its file does not say: nothing that changes anything. */
export const READ_ONLY_TOOLS = ['read_file', 'list_files', 'search_files'] as const;

const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/i;
const KEYS = ['name', 'description', 'tools', 'model', 'max_steps'] as const;
const FRONT_MATTER = /^\uFEFF?---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)([\s\S]*)$/;
const OPENED = /^\uFEFF?---[ \t]*(?:\r?\n|$)/;

/** A file in `.agents/` that is not a valid agent; the message says why. */
export class SubagentSyntaxError extends Error {}

/** Reads an agent from its Markdown file: YAML front matter, then the instructions. `fileName` is its default name. */
export function parseSubagent(fileName: string, text: string): Subagent {
  const [whole, frontMatter = '', body = text] = FRONT_MATTER.exec(text) ?? [];
  if (whole === undefined && OPENED.test(text))
    throw new SubagentSyntaxError('the front matter is not closed by a line of ---');
  const fields = parseFields(frontMatter);
  const name = optionalText(fields, 'name') ?? fileName.replace(/\.md$/, '');
  if (!NAME.test(name))
    throw new SubagentSyntaxError(`name "${name}" may hold letters, digits, _ and - only`);
  return {
    name,
    description: optionalText(fields, 'description') ?? '',
    tools: toolsOf(fields.tools),
    model: optionalText(fields, 'model') ?? null,
    maxSteps: maxStepsOf(fields.max_steps),
    instructions: body.trim(),
  };
}

function parseFields(frontMatter: string): Record<string, unknown> {
  let fields: unknown;
  try {
    fields = parse(frontMatter, { maxAliasCount: 0 }) ?? {};
  } catch (error) {
    throw new SubagentSyntaxError(
      `the front matter is not valid YAML: ${(error as Error).message.split('\n')[0]}`,
    );
  }
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
    throw new SubagentSyntaxError('the front matter must be a list of "key: value" lines');
  const unknown = Object.keys(fields).find(key => !KEYS.some(known => known === key));
  if (unknown !== undefined)
    throw new SubagentSyntaxError(`"${unknown}" is not a known key; there are ${KEYS.join(', ')}`);
  return fields as Record<string, unknown>;
}

function optionalText(fields: Record<string, unknown>, key: (typeof KEYS)[number]): string | undefined {
  const value = fields[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new SubagentSyntaxError(`${key} must be text`);
  return value.trim();
}

function toolsOf(value: unknown): readonly string[] {
  if (value === undefined || value === null) return READ_ONLY_TOOLS;
  const list =
    typeof value === 'string'
      ? value
          .split(',')
          .map(tool => tool.trim())
          .filter(Boolean)
      : value;
  if (!Array.isArray(list) || !list.every(tool => typeof tool === 'string'))
    throw new SubagentSyntaxError('tools must be a list of tool names');
  return list;
}

function maxStepsOf(value: unknown): number | null {
  if (value === undefined || value === null) return null;
  if (!Number.isInteger(value) || (value as number) < 1)
    throw new SubagentSyntaxError('max_steps must be a whole number from 1');
  return value as number;
}
