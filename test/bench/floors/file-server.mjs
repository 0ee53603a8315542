/** The least that sending a file can cost in Node as it is usually done: node:http and a stream, nobody asked who they are. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';

const [root] = process.argv.slice(2);

const server = http.createServer(async (request, response) => {
  const file = path.join(root, path.basename(request.url));
  const { size } = await stat(file);
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': size });
  createReadStream(file).pipe(response);
});
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`ready http://127.0.0.1:${server.address().port}\n`),
);
