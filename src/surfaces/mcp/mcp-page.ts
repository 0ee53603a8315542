import { escapeHtml } from '../../platform/http/html.js';
import type { HtmlPage } from '../../platform/http/html-page.js';

const block = (text: string) => `<p class="facts"><code>${escapeHtml(text)}</code></p>`;

/** What a person reads who opens the endpoint in a browser: what it is, and how to add it to a client. */
export function mcpPage(address: string): HtmlPage {
  const cursor = JSON.stringify({ mcpServers: { atelier: { url: address } } });
  const code = JSON.stringify({ name: 'atelier', type: 'http', url: address });
  const withKey = JSON.stringify({
    mcpServers: { atelier: { url: address, headers: { 'X-API-Key': 'atl_…' } } },
  });
  const body = `
<p>This address is for programs that speak MCP, the Model Context Protocol. Through it they work in your workspaces: on
files, in the sandbox and with agents, with no more rights than you have.</p>
${block(address)}
<p><strong>Claude</strong>: Settings, Connectors, Add custom connector, with the address above. Claude Code:</p>
${block(`claude mcp add --transport http atelier ${address}`)}
<p><strong>Cursor</strong>: in <code>~/.cursor/mcp.json</code></p>
${block(cursor)}
<p><strong>VS Code</strong>: in a terminal</p>
${block(`code --add-mcp '${code}'`)}
<p>Each of them opens a page here on which you sign in and choose what it may do. A program without a browser sends an API
key instead:</p>
${block(withKey)}
<p class="aside">Add <code>?readonly=1</code> to the address for tools that change nothing, or
<code>?toolsets=files,agents</code> for some of them: actions, agents, code, files, workspaces.</p>`;
  return { title: 'The MCP endpoint', body };
}
