import type { Actor } from '../../platform/access/actor.js';
import { BadRequest } from '../../platform/http/problem.js';

/** Groups of tools that `?toolsets=` chooses from. */
export const TOOLSETS = ['actions', 'agents', 'code', 'files', 'workspaces'] as const;
export type Toolset = (typeof TOOLSETS)[number];

/** Which tools a client asked to see, by the query of the address that it was given. */
export interface ToolView {
  readonly toolsets: readonly Toolset[];
  /** Only what changes nothing. */
  readonly readonly: boolean;
}

/** One request, as what it asks for is answered: who asks, and what of the endpoint they want to see. */
export interface McpSession {
  readonly actor: Actor;
  readonly view: ToolView;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
}

const SWITCH: Record<string, boolean> = { '1': true, true: true, '0': false, false: false };

/** Reads `?toolsets=files,code&readonly=1`. Throws BadRequest for what it does not know. */
export function toolViewOf(query: Record<string, unknown>): ToolView {
  const readonly = query.readonly === undefined ? false : SWITCH[String(query.readonly)];
  if (readonly === undefined) throw new BadRequest('readonly must be 1 or 0');
  const names = String(query.toolsets ?? '')
    .split(',')
    .map(name => name.trim())
    .filter(Boolean);
  const unknown = names.find(name => !TOOLSETS.some(toolset => toolset === name));
  if (unknown !== undefined)
    throw new BadRequest(
      `There is no toolset ${unknown.slice(0, 64)}; toolsets may list ${TOOLSETS.join(', ')}`,
    );
  const toolsets = names.length === 0 ? TOOLSETS : TOOLSETS.filter(toolset => names.includes(toolset));
  return { toolsets, readonly };
}
