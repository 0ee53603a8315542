import { All, Controller, Req, Res, UseGuards } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { withDoubles } from '#libs/exact-json/index.js';
import { readBody } from '#libs/fastify-hardening/index.js';
import { escapeHtml } from '#libs/html/index.js';
import { OAuthResources } from '../../identity/oauth/index.js';
import { type Actor, Public } from '../../platform/access/index.js';
import { BadRequest, Invalid, UnsupportedMediaType } from '../../platform/errors/index.js';
import { type HtmlPage, sendPage } from '../../platform/pages/index.js';
import { HttpCall, toolViewOf } from './call/mcp-call.js';
import { McpGuard, McpOrigins, wantsPage } from './mcp.guard.js';
import { McpEndpoint } from './mcp-endpoint.js';
import { ScopeChallenges } from './tools/scope-challenges.js';

const block = (text: string) => `<pre class="facts copy"><code>${escapeHtml(text)}</code></pre>`;
const json = (value: unknown) => block(JSON.stringify(value, null, 2));

/** What a person reads who opens the endpoint in a browser: what it is, and how to add it to a client. */
function mcpPage(address: string): HtmlPage {
  const body = `
<p>This address is for programs that speak MCP, the Model Context Protocol. Through it they work in your workspaces: on
files, in the sandbox and with agents, with no more rights than you have.</p>
${block(address)}
<p class="hint">A click on a block marks all of it, to copy.</p>
<h2>Claude</h2>
<p>Settings, Connectors, Add custom connector, with the address above. Claude Code, in a terminal:</p>
${block(`claude mcp add --transport http atelier ${address}`)}
<h2>Cursor</h2>
<p>In <code>~/.cursor/mcp.json</code>, as in most other clients:</p>
${json({ mcpServers: { atelier: { url: address } } })}
<h2>VS Code</h2>
<p>In a terminal:</p>
${block(`code --add-mcp '${JSON.stringify({ name: 'atelier', type: 'http', url: address })}'`)}
<h2>Without a browser</h2>
<p>Each of these opens a page here on which you sign in and choose what it may do. A program without a browser sends an API
key instead:</p>
${json({ mcpServers: { atelier: { url: address, headers: { 'X-API-Key': 'atl_…' } } } })}
<p class="aside">Add <code>?readonly=1</code> to the address for tools that change nothing, or
<code>?toolsets=files,agents</code> for some of them: actions, agents, code, files, workspaces.</p>`;
  return { title: 'The MCP endpoint', body };
}

/** Longest text in the parameters of a request, in characters. */
const MAX_TEXT = 16_384;

/** The MCP endpoint. It answers for itself what the guard of the other routes would: who calls, and from where. */
@Public()
@UseGuards(McpGuard)
@ApiExcludeController()
@Controller()
export class McpController {
  constructor(
    private readonly endpoint: McpEndpoint,
    private readonly origins: McpOrigins,
    private readonly resources: OAuthResources,
    private readonly scopes: ScopeChallenges,
  ) {}

  @All('/mcp')
  async serve(@Req() request: FastifyRequest & { user: Actor }, @Res() reply: FastifyReply): Promise<void> {
    if (wantsPage(request)) {
      sendPage(reply, mcpPage(this.resources.mcp));
      return;
    }
    this.allowOrigin(request, reply);
    if (request.method === 'OPTIONS') {
      await reply.status(204).send();
      return;
    }
    const body = await readBody(request);
    if (isStream(body))
      throw new UnsupportedMediaType('Send the body as JSON, with Content-Type: application/json');
    // Later revisions know no batches; each message counts as the request that it is.
    if (Array.isArray(body)) throw new BadRequest('Send one message at a time, not a batch');
    const view = toolViewOf(request.query as Record<string, unknown>);
    refuseLongTexts(body);
    const call = new HttpCall(request.user, view, reply);
    request.body = withNumbers(body);
    await this.scopes.requireEnough(call, request.body);
    await this.endpoint.answer(call, { request, reply });
  }

  /** Lets the pages of an allowed origin read what is answered. */
  private allowOrigin({ headers }: FastifyRequest, reply: FastifyReply): void {
    void reply.header('vary', 'Origin');
    if (!this.origins.isAllowed(headers.origin)) return;
    void reply.headers({
      'access-control-allow-origin': headers.origin,
      'access-control-allow-methods': 'GET, POST, DELETE, OPTIONS',
      'access-control-allow-headers':
        headers['access-control-request-headers'] ?? 'authorization, content-type, mcp-protocol-version',
      'access-control-expose-headers': 'www-authenticate, mcp-session-id, x-request-id, retry-after',
    });
  }
}

const isStream = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && 'pipe' in body && typeof body.pipe === 'function';

/** A message with doubles, as the protocol's own fields take; only what a tool is called with keeps all digits. */
function withNumbers(body: unknown): unknown {
  const { params, ...message } = (body ?? {}) as { method?: unknown; params?: { arguments?: unknown } };
  if (message.method !== 'tools/call' || typeof params !== 'object' || params === null)
    return withDoubles(body);
  const { arguments: input, ...others } = params;
  return {
    ...(withDoubles(message) as object),
    params: { ...(withDoubles(others) as object), arguments: input },
  };
}

/** Only calls of tools have long texts; what the SDK does with others, it does several times. Throws Invalid. */
function refuseLongTexts(body: unknown): void {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: unknown };
  if (method === 'tools/call' || typeof params !== 'object' || params === null) return;
  for (const [name, value] of Object.entries(params))
    if (typeof value === 'string' && value.length > MAX_TEXT)
      throw new Invalid(`${name.slice(0, 100)} must have at most ${MAX_TEXT} characters`);
}
