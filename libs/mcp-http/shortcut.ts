import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  SERVER_INFO_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server';
import type { Call, HttpExchange, McpHost, McpLog, SessionStore } from './ports.js';
import type { RequestsUnderWay } from './requests-under-way.js';
import { openJsonOf } from './results.js';
import { requireSession } from './sessions.js';

const MODERN = '2026-07-28';
const CLOSING = Buffer.from('}');

type Fields = Record<string, unknown>;

/** A request that is in order in every respect, so that nothing of it has to be explained. */
interface PlainRequest {
  readonly id: string | number;
  readonly method: 'tools/list' | 'tools/call';
  readonly params: Fields;
  readonly isModern: boolean;
}

/**
 * Answers what clients ask for all the time, the list of tools and the calls of those that only answer, without setting up
 * a server of the SDK for each. It answers word for word as the SDK does, and leaves to it whatever is not plainly in order:
 * each refusal of the protocol is the SDK's own.
 */
export class Shortcut<C extends Call> {
  private readonly lists = new Map<string, Buffer>();

  constructor(
    private readonly host: McpHost<C>,
    private readonly sessions: SessionStore,
    private readonly underWay: RequestsUnderWay,
    private readonly log: McpLog,
  ) {}

  /** The answer, JSON; null where the client has taken its request back; undefined where the SDK is to answer. */
  async answer(call: C, request: HttpExchange['request']): Promise<Buffer | string | null | undefined> {
    const plain = plainRequest(request);
    if (!plain) return undefined;
    const { id, method, params, isModern } = plain;
    if (method === 'tools/call' && !this.host.tools.onlyAnswers(call, String(params.name))) return undefined;
    const sessionId = request.headers['mcp-session-id'];
    if (sessionId !== undefined)
      await requireSession(this.sessions, this.host.ownerOf(call), String(sessionId));
    const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},`;
    if (method === 'tools/list')
      return Buffer.concat([Buffer.from(head), this.list(call, isModern), CLOSING]);
    const result = await this.call(call, plain, sessionId && String(sessionId));
    return result && `${head}${result}}`;
  }

  /** It is long, and the same for many: made once, and kept as bytes. */
  private list(call: C, isModern: boolean): Buffer {
    const view = this.host.tools.list(call);
    const key = `${isModern} ${view.key}`;
    let list = this.lists.get(key);
    if (list === undefined) {
      const tools = { tools: view.tools() };
      // As the SDK has it by default: a client may keep it for itself, and should ask again.
      list = Buffer.from(this.resultOf(tools, isModern, { ttlMs: 0, cacheScope: 'private' }));
      this.lists.set(key, list);
    }
    return list;
  }

  private async call(
    call: C,
    { id, params, isModern }: PlainRequest,
    sessionId: string | undefined,
  ): Promise<string | null> {
    const taken = this.underWay.begin(sessionId, id);
    const { signal } = taken;
    const cancellable =
      sessionId === undefined ? call : { ...call, signal: AbortSignal.any([call.signal, signal]) };
    const { name, arguments: input = {} } = params as { name: string; arguments?: Fields };
    try {
      const result = await this.host.tools.call(cancellable, name, input);
      if (signal.aborted) return null;
      return this.resultOf(result as Fields, isModern);
    } catch (error) {
      this.log.error({ err: error }, 'MCP request failed');
      return '"error":{"code":-32603,"message":"Internal server error"}';
    } finally {
      taken.forget();
    }
  }

  /** A result as the revision has it: from 2026-07-28 on it says what kind it is, and who gave it. */
  private resultOf(result: Fields, isModern: boolean, also: Fields = {}): string {
    if (!isModern) return `"result":${openJsonOf(result)}}`;
    const signed = { ...also, _meta: { [SERVER_INFO_META_KEY]: this.host.info }, resultType: 'complete' };
    return `"result":${openJsonOf(result)},${JSON.stringify(signed).slice(1)}`;
  }
}

function plainRequest({ method: verb, headers, body }: HttpExchange['request']): PlainRequest | undefined {
  if (verb !== 'POST' || !isFields(body) || body.jsonrpc !== '2.0') return undefined;
  const { id, method, params = {} } = body;
  if (method !== 'tools/list' && method !== 'tools/call') return undefined;
  if (typeof id !== 'string' && !Number.isSafeInteger(id)) return undefined;
  if (!isFields(params) || !isPlainCall(method, params)) return undefined;
  const isModern = headers['mcp-protocol-version'] === MODERN;
  const isInOrder = isModern ? isModernInOrder(method, params, headers) : isLegacyInOrder(params, headers);
  return isInOrder ? { id: id as string | number, method, params, isModern } : undefined;
}

function isPlainCall(method: string, { name, arguments: input, ...others }: Fields): boolean {
  const { _meta, ...unknown } = others;
  if (Object.keys(unknown).length > 0) return false;
  if (method === 'tools/list') return name === undefined && input === undefined;
  return typeof name === 'string' && (input === undefined || isFields(input));
}

/** Each request of 2026-07-28 says in its headers and in its body who it is from and what for, and both agree. */
function isModernInOrder(
  method: string,
  { _meta, name }: Fields,
  headers: HttpExchange['request']['headers'],
): boolean {
  if (!isFields(_meta) || headers['mcp-session-id'] !== undefined) return false;
  const {
    [PROTOCOL_VERSION_META_KEY]: revision,
    [CLIENT_CAPABILITIES_META_KEY]: capabilities,
    [CLIENT_INFO_META_KEY]: info,
    ...others
  } = _meta;
  return (
    Object.keys(others).length === 0 &&
    revision === MODERN &&
    isFields(capabilities) &&
    isFields(info) &&
    typeof info.name === 'string' &&
    typeof info.version === 'string' &&
    headers['mcp-method'] === method &&
    headers['mcp-name'] === name
  );
}

function isLegacyInOrder({ _meta }: Fields, headers: HttpExchange['request']['headers']): boolean {
  const { accept = '', 'mcp-protocol-version': revision } = headers;
  const known = revision === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(String(revision));
  return (
    _meta === undefined &&
    known &&
    accept.includes('application/json') &&
    accept.includes('text/event-stream')
  );
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
