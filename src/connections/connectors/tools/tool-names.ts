import { createHash } from 'node:crypto';

/** How the names of all tools of connectors begin, and no other. */
export const CONNECTOR_TOOL = 'mcp__';

/** Longest name of a tool that models take. */
const MAX_NAME = 64;
const HASH = 6;

/**
 * The name by which models call a tool of a connector: `mcp__<slug>__<tool>`. What does not fit, or has characters that models do not take, is cut
 * and marked by its hash.
 */
export function toolName(slug: string, tool: string, hashLength = HASH): string {
  const plain = tool.replaceAll(/[^A-Za-z0-9_-]/g, '_');
  const name = `${CONNECTOR_TOOL}${slug}__${plain}`;
  if (plain === tool && name.length <= MAX_NAME && hashLength === HASH) return name;
  const hash = createHash('sha256').update(tool).digest('hex').slice(0, hashLength);
  return `${name.slice(0, MAX_NAME - hashLength - 1)}_${hash}`;
}

/** The names of a connector's tools, each once: what would clash with the exact name of another is marked longer. */
export function toolNames(slug: string, tools: readonly string[]): Map<string, string> {
  const names = new Map<string, string>();
  const isExact = (tool: string) => toolName(slug, tool).endsWith(`__${tool}`);
  for (const tool of [...tools].sort((a, b) => Number(isExact(b)) - Number(isExact(a)) || (a < b ? -1 : 1))) {
    const name = [HASH, 12, 24].map(length => toolName(slug, tool, length)).find(one => !names.has(one));
    if (name !== undefined) names.set(name, tool);
  }
  return names;
}

const MAX_SLUG = 30;

/** A slug made of a name. */
export function makeSlug(name: string): string {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_SLUG)
    .replaceAll(/^-|-$/g, '');
  return plain || 'connector';
}

/** The slug, or with a number where it is taken. */
export function freeSlug(slug: string, taken: ReadonlySet<string>): string {
  for (let number = 1; ; number++) {
    const suffix = number === 1 ? '' : `-${number}`;
    const free = slug.slice(0, MAX_SLUG - suffix.length).replace(/-$/, '') + suffix;
    if (!taken.has(free)) return free;
  }
}
