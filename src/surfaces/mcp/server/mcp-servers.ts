import {
  createRequestStateCodec,
  ProtocolError,
  ProtocolErrorCode,
  type RequestStateCodec,
  ResourceNotFoundError,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { Inject, Injectable } from '@nestjs/common';
import { callOf, type McpHost } from '#libs/mcp-http/index.js';
import { problemOf } from '../../../platform/errors/index.js';
import { Log } from '../../../platform/log/index.js';
import { type Seal, Vault } from '../../../platform/vault/index.js';
import { answering, type Dialogue, type McpCall } from '../call/mcp-call.js';
import { MCP_EXTENSION, type McpExtension } from '../call/mcp-tool.js';
import { McpCompletions, McpResources } from '../resources/mcp-resources.js';
import { McpTools } from '../tools/mcp-tools.js';
import { McpPrompts } from './mcp-prompts.js';

/** As long as a person may take to answer. */
const LIFE_SECONDS = 15 * 60;

/**
 * What a client is given to bring back with the answers to what it was asked (`requestState`, 2026-07-28): signed, and good
 * for the same person and the same method only.
 */
@Injectable()
export class RequestMemory {
  private readonly seal: Seal;

  constructor(vault: Vault) {
    this.seal = vault.seal('mcp request state');
  }

  close(value: unknown, context: ServerContext): Promise<string> {
    const [current] = this.codecs();
    if (!current) throw new Error('There is no key');
    return current.mint(value, context);
  }

  /** Rejects what was not closed here for this caller, or is too old. */
  async open(closed: string, context: ServerContext): Promise<unknown> {
    const attempts = await Promise.allSettled(this.codecs().map(codec => codec.verify(closed, context)));
    const opened = attempts.find(({ status }) => status === 'fulfilled') ?? attempts[0];
    if (opened?.status === 'fulfilled') return opened.value;
    throw opened?.reason;
  }

  /** One for each key that may have signed, the current one first. */
  private codecs(): RequestStateCodec[] {
    return this.seal.keys().map(key =>
      createRequestStateCodec({
        key: new Uint8Array(key),
        ttlSeconds: LIFE_SECONDS,
        bind: ({ mcpReq, http }) => `${mcpReq.method} ${callOf<McpCall>(http?.authInfo)?.actor.id ?? ''}`,
      }),
    );
  }
}

const SERVER = { name: 'atelier', title: 'Atelier', version: '0.1.0' };
const INSTRUCTIONS =
  'Atelier holds workspaces: files, a sandbox that runs code on them, and agents that work in both. Begin with ' +
  'list_workspaces; most tools take a workspace_id. What has no tool of its own is found with actions_search.';
const CAPABILITIES = {
  tools: {},
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  completions: {},
};

/** Answers calls with what the service has: tools, resources and prompts. */
@Injectable()
export class McpServers implements McpHost<McpCall> {
  constructor(
    private readonly allTools: McpTools,
    private readonly resources: McpResources,
    private readonly prompts: McpPrompts,
    private readonly completions: McpCompletions,
    private readonly memory: RequestMemory,
    @Inject(MCP_EXTENSION) private readonly extension: McpExtension,
    private readonly log: Log,
  ) {}

  ownerOf({ actor }: McpCall): string {
    return actor.id;
  }

  server(call: McpCall): Server {
    const server = new Server(SERVER, {
      capabilities: { ...CAPABILITIES, ...this.extension.capabilities },
      instructions: INSTRUCTIONS,
      requestState: { verify: (state, context) => this.memory.open(state, context) },
    });
    this.offerTools(server, call);
    this.offerResources(server, call);
    this.offerPrompts(server, call);
    return server;
  }

  private offerTools(server: Server, call: McpCall): void {
    server.setRequestHandler('tools/list', () => ({ tools: this.allTools.list(call.view) }));
    server.setRequestHandler('tools/call', ({ params: { name, arguments: input = {} } }, context) =>
      answering(this.log, async () => {
        const signal = AbortSignal.any([call.signal, context.mcpReq.signal]);
        const dialogue = this.dialogue(server, context);
        const result = await this.allTools.call(
          { actor: call.actor, view: call.view, signal },
          name,
          input,
          dialogue,
        );
        if (result) return result;
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${name.slice(0, 64)}`);
      }),
    );
  }

  private offerResources(server: Server, { actor }: McpCall): void {
    const { resources } = this;
    server.setRequestHandler('resources/list', ({ params }) =>
      answering(this.log, () => resources.list(actor, params?.cursor)),
    );
    server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: resources.templates }));
    server.setRequestHandler('resources/read', ({ params: { uri } }) =>
      answering(this.log, async () => {
        try {
          return await resources.read(actor, uri);
        } catch (error) {
          const problem = problemOf(error);
          throw problem?.status === 404 ? new ResourceNotFoundError(uri, problem.detail) : error;
        }
      }),
    );
  }

  private offerPrompts(server: Server, { actor }: McpCall): void {
    server.setRequestHandler('prompts/list', ({ params }) =>
      answering(this.log, () => this.prompts.list(actor, params?.cursor)),
    );
    server.setRequestHandler('prompts/get', ({ params }, context) =>
      answering(this.log, () =>
        this.prompts.get(actor, params.name, params.arguments ?? {}, this.dialogue(server, context)),
      ),
    );
    server.setRequestHandler('completion/complete', ({ params }) =>
      answering(this.log, () => this.completions.of(actor, params)),
    );
  }

  private dialogue(server: Server, context: ServerContext): Dialogue {
    const { inputResponses = {}, _meta, requestState, notify, log } = context.mcpReq;
    return {
      clientName: server.getClientVersion()?.name,
      capabilities: server.getClientCapabilities() ?? {},
      answers: inputResponses,
      progressToken: _meta?.progressToken,
      memory: requestState,
      remember: value => this.memory.close(value, context),
      notify,
      log,
    };
  }
}
