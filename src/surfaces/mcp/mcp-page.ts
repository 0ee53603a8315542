import { escapeHtml, type HtmlPage } from '../../platform/pages/index.js';

const block = (text: string) => `<pre class="facts copy"><code>${escapeHtml(text)}</code></pre>`;
const json = (value: unknown) => block(JSON.stringify(value, null, 2));

/** What a person reads who opens the endpoint in a browser: what it is, and how to add it to a client. */
export function mcpPage(address: string): HtmlPage {
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
