import { escapeHtml } from './html.js';

const block = (text: string): string => `<pre class="facts copy"><code>${escapeHtml(text)}</code></pre>`;

/** How people and programs go on from a page of ours: the documentation, a first call, MCP. */
export function connectHtml(baseUrl: string, email = 'you@example.com'): string {
  const login = `curl ${baseUrl}/api/auth/login \\
  -H 'Content-Type: application/json' \\
  -d '{"email": "${email.replaceAll("'", "'\\''")}", "password": "…"}'`;
  const me = `curl ${baseUrl}/api/workspaces \\
  -H 'Authorization: Bearer ACCESS_TOKEN'`;
  return `<h2>With an AI client</h2>
<p>Claude, Cursor, VS Code and others connect through MCP. Their set-up is <a href="/mcp">described here</a>; the address is</p>
${block(`${baseUrl}/mcp`)}
<h2>With the API</h2>
<p>Sign in for an access token, and send it with each call. <a href="/docs">All calls are documented</a>.</p>
${block(login)}
${block(me)}`;
}
