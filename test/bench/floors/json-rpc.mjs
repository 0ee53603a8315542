/** The floor of the MCP bench: JSON-RPC as one would write it by hand, with tools of its own, and nobody asked who they are. */
import http from 'node:http';

const tools = Array.from({ length: 13 }, (_, n) => ({
  name: `tool_${n}`,
  description: 'Does what it says.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
}));

const answers = {
  'tools/list': () => ({ tools }),
  'tools/call': ({ arguments: { text } }) => ({ content: [{ type: 'text', text }] }),
};

const server = http.createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', part => {
    body += part;
  });
  request.on('end', () => {
    const { id, method, params } = JSON.parse(body);
    const text = JSON.stringify({ jsonrpc: '2.0', id, result: answers[method](params) });
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    });
    response.end(text);
  });
});
server.listen(0, '127.0.0.1', () => console.log(`ready http://127.0.0.1:${server.address().port}`));
process.on('SIGTERM', () => process.exit(0));
