import {
  type ClientCapabilities,
  type LoggingLevel,
  type Notification,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';
import type { FastifyReply } from 'fastify';
import { clientGone } from '#libs/fastify-hardening/index.js';
import type { Actor } from '../../../platform/access/index.js';
import { BadRequest, problemOf } from '../../../platform/errors/index.js';
import type { Log } from '../../../platform/log/index.js';

/** Groups of tools that `?toolsets=` chooses from. */
const DEFAULT_TOOLSETS = ['actions', 'agents', 'code', 'files', 'workspaces'] as const;
/** `coding` only for who asks for it: a listing is read before every conversation, and its actions are in the catalog. */
const TOOLSETS = [...DEFAULT_TOOLSETS, 'coding'] as const;
export type Toolset = (typeof TOOLSETS)[number];

/** Which tools a client asked to see, by the query of the address that it was given. */
export interface ToolView {
  readonly toolsets: readonly Toolset[];
  /** Only what changes nothing. */
  readonly readonly: boolean;
}

/** One request, as what it asks for is answered: who asks, and what of the endpoint they want to see. */
export interface McpCall {
  readonly actor: Actor;
  readonly view: ToolView;
  /** Aborted when the client has gone, or takes the request back. */
  readonly signal: AbortSignal;
}

/** What passes between client and server while a request is answered, besides the request. */
export interface Dialogue {
  readonly clientName: string | undefined;
  /** What the client says that it can do: nothing where it was not asked. */
  readonly capabilities: ClientCapabilities;
  /** What it answered when it was asked before, by the name of the question; not checked. */
  readonly answers: Readonly<Record<string, unknown>>;
  /** Identifies its progress notifications. */
  readonly progressToken: string | number | undefined;
  /** What it was given to bring back with its answers; what was tampered with, or given to another person, is refused. */
  memory<T>(): T | undefined;
  /** Closes something up for the client to bring back. */
  remember(value: unknown): Promise<string>;
  notify(notification: Notification): Promise<void>;
  log(level: LoggingLevel, data: unknown): Promise<void>;
}

/** The dialogue of a tool that has nothing to say and nothing to ask. */
export const SILENCE: Dialogue = {
  clientName: undefined,
  capabilities: {},
  answers: {},
  progressToken: undefined,
  memory: () => undefined,
  remember: () => Promise.reject(new Error('This tool has no dialogue')),
  notify: () => Promise.resolve(),
  log: () => Promise.resolve(),
};

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
  const toolsets =
    names.length === 0 ? DEFAULT_TOOLSETS : TOOLSETS.filter(toolset => names.includes(toolset));
  return { toolsets, readonly };
}

/** A call by HTTP. Most are answered before anybody asks whether their client is still there. */
export class HttpCall implements McpCall {
  private gone: AbortSignal | undefined;

  constructor(
    readonly actor: Actor,
    readonly view: ToolView,
    private readonly reply: FastifyReply,
  ) {}

  get signal(): AbortSignal {
    this.gone ??= clientGone(this.reply);
    return this.gone;
  }
}

/** Runs a handler of the protocol. A refusal keeps its sentence; a fault of ours is logged, and the client sees nothing of it. */
export async function answering<T>(log: Log, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const problem = problemOf(error);
    if (problem) throw new ProtocolError(ProtocolErrorCode.InvalidParams, problem.detail);
    log.error({ err: error }, 'MCP request failed');
    throw new ProtocolError(ProtocolErrorCode.InternalError, 'Internal server error');
  }
}
