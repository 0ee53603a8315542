import { connectHtml, type HtmlPage } from '../../platform/pages/index.js';

/** For a person who opens the address of an installation: what this is, and the ways in. */
export function landingPage(baseUrl: string): HtmlPage {
  return {
    title: 'A workspace for teams and agents',
    body: `<p>This is Atelier: files, a sandbox and agents that work in both, over an API and over MCP. It runs here.</p>
<p><a class="button" href="/docs">API documentation</a></p>
${connectHtml(baseUrl)}
<p class="aside">No account? Open the link of your invitation. Lost your password? <a href="/auth/forgot">Get a new one</a>.</p>
<p class="aside">For programs: <a href="/api/openapi.json">OpenAPI description</a>, <a href="/api/health">health</a>.</p>`,
  };
}
