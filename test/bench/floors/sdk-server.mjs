/** The other floor of the MCP bench: the SDK's own server as its documentation shows it, with tools of the same number. */
import http from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';

const inputSchema = fromJsonSchema({
  type: 'object',
  properties: { text: { type: 'string' } },
  required: ['text'],
});

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'floor', version: '1.0.0' });
  for (let n = 0; n < 13; n++)
    server.registerTool(
      `tool_${n}`,
      { description: 'Does what it says.', inputSchema },
      async ({ text }) => ({ content: [{ type: 'text', text }] }),
    );
  return server;
});
const serve = toNodeHandler(handler);

const server = http.createServer((request, response) => void serve(request, response));
server.listen(0, '127.0.0.1', () => console.log(`ready http://127.0.0.1:${server.address().port}`));
process.on('SIGTERM', () => process.exit(0));
