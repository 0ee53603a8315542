import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { Server as FirstServer } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport as FirstTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler, type McpHttpHandler, Server as NextServer } from '@modelcontextprotocol/server';

// biome-ignore lint/suspicious/noExplicitAny: definitions and results of two SDKs, whose types differ
type Loose = any;

/** A tool of the server: what it says of it, and what it answers. */
export interface OfferedTool {
  definition: Loose;
  call: (input: Loose, context: CallContext) => Promise<Loose> | Loose;
}

interface CallContext {
  progress(message: string): Promise<void>;
  readonly signal: AbortSignal;
  readonly request: IncomingMessage;
}

/** 2026-07-28, or sessions of 2025-11-25. */
export type ServerEra = 'modern' | 'legacy';

const CAPABILITIES = { capabilities: { tools: { listChanged: true } } };

/** A remote MCP server made of an SDK, of either era, whose tools can change at any time. */
export class ToolServer {
  readonly tools: OfferedTool[] = [];
  instructions: string | undefined;
  /** Every request, in the order in which they came. */
  readonly requests: { method: string; url: string; headers: IncomingMessage['headers'] }[] = [];
  /** Every call of a tool. */
  readonly calls: { name: string; input: Loose; authorization: string | undefined }[] = [];
  /** Answers instead of the protocol where it returns true. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>) | undefined;
  listed = 0;
  private readonly sessions = new Map<string, FirstTransport>();
  private readonly http: Server;
  private readonly handler: McpHttpHandler;
  private readonly current = new Map<string, IncomingMessage>();

  private constructor(readonly era: ServerEra) {
    this.handler = createMcpHandler(() => this.next(), { legacy: 'reject' });
    const modern = toNodeHandler(this.handler);
    this.http = createServer(async (request, response) => {
      const { method = '', url = '', headers } = request;
      this.requests.push({ method, url, headers });
      this.current.set('last', request);
      if (await this.intercept?.(request, response)) return;
      await (era === 'modern' ? modern(request as Loose, response as Loose) : this.legacy(request, response));
    });
  }

  static async start(era: ServerEra = 'modern'): Promise<ToolServer> {
    const server = new ToolServer(era);
    await new Promise<void>(resolve => server.http.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get host(): string {
    return `127.0.0.1:${(this.http.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `http://${this.host}/mcp`;
  }

  /** A tool that answers with a text. */
  offer(name: string, call: OfferedTool['call'] = () => 'done', more: Loose = {}): OfferedTool {
    const definition = {
      name,
      description: `What ${name} does.`,
      inputSchema: { type: 'object', properties: {} },
      ...more,
    };
    const tool = { definition, call };
    const known = this.tools.findIndex(one => one.definition.name === name);
    if (known >= 0) this.tools[known] = tool;
    else this.tools.push(tool);
    return tool;
  }

  /** Sessions end, as when it is started again. */
  forgetSessions(): void {
    this.sessions.clear();
  }

  async stop(): Promise<void> {
    for (const session of this.sessions.values()) await session.close();
    await this.handler.close();
    this.http.closeAllConnections();
    await new Promise(resolve => this.http.close(resolve));
  }

  private list(): Loose {
    this.listed++;
    return { tools: this.tools.map(({ definition }) => definition) };
  }

  private async answer(
    { name, arguments: input }: Loose,
    extra: Omit<CallContext, 'request'>,
  ): Promise<Loose> {
    const request = this.current.get('last') as IncomingMessage;
    this.calls.push({ name, input, authorization: request.headers.authorization });
    const tool = this.tools.find(({ definition }) => definition.name === name);
    if (!tool) throw new Error(`There is no tool ${name}`);
    const result = await tool.call(input, { ...extra, request });
    return typeof result === 'string' ? { content: [{ type: 'text', text: result }] } : result;
  }

  private next(): NextServer {
    const server = new NextServer(
      { name: 'tools', version: '2.0.0', title: 'Tools' },
      { ...CAPABILITIES, instructions: this.instructions },
    );
    server.setRequestHandler('tools/list', () => this.list());
    server.setRequestHandler('tools/call', ({ params }: Loose, { mcpReq }: Loose) =>
      this.answer(params, {
        signal: mcpReq.signal,
        progress: async message => {
          const progressToken = params._meta?.progressToken;
          if (progressToken !== undefined)
            await mcpReq.notify({
              method: 'notifications/progress',
              params: { progressToken, progress: 1, message },
            });
        },
      }),
    );
    return server;
  }

  private async legacy(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? this.sessions.get(id) : undefined;
    if (id !== undefined && !known) {
      response.writeHead(404).end('Session not found');
      return;
    }
    if (known) return known.handleRequest(request, response);
    const transport = new FirstTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: session => {
        this.sessions.set(session, transport);
      },
    });
    await this.first().connect(transport as Loose);
    await transport.handleRequest(request, response);
  }

  private first(): FirstServer {
    const server = new FirstServer(
      { name: 'tools', version: '1.0.0', title: 'Tools' },
      { ...CAPABILITIES, instructions: this.instructions },
    );
    server.setRequestHandler(ListToolsRequestSchema, () => this.list());
    server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal, sendNotification }) =>
      this.answer(params, {
        signal,
        progress: async message => {
          const progressToken = params._meta?.progressToken;
          if (progressToken !== undefined)
            await sendNotification({
              method: 'notifications/progress',
              params: { progressToken, progress: 1, message },
            });
        },
      }),
    );
    return server;
  }
}
