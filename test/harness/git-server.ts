import { spawn } from 'node:child_process';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

/**
 * Git's own server, as a CGI program (git-http-backend(1)), for the bare repositories in a folder. Without `isAllowed` it lets
 * everyone in.
 */
export function serveRepositories(
  folder: string,
  isAllowed: (authorization: string | undefined, path: string) => boolean = () => true,
): RequestListener {
  return (request, response) => {
    const { pathname, search } = new URL(request.url ?? '/', 'https://host');
    if (isAllowed(request.headers.authorization, pathname))
      return serve(folder, request, response, pathname, search.slice(1));
    response.writeHead(401, { 'www-authenticate': 'Basic realm="repositories"' }).end('Who are you?');
  };
}

function serve(
  folder: string,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  query: string,
): void {
  const { headers, method } = request;
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: method,
      REMOTE_USER: 'git',
      CONTENT_TYPE: headers['content-type'],
      GIT_PROTOCOL: headers['git-protocol'] as string,
      HTTP_CONTENT_ENCODING: headers['content-encoding'],
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  request.pipe(backend.stdin).on('error', () => undefined);
  response.once('close', () => backend.kill());
  let head: Buffer | undefined = Buffer.alloc(0);
  backend.stdout.on('data', (chunk: Buffer) => {
    if (!head) return void response.write(chunk);
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    const lines = head.toString('latin1', 0, end).split('\r\n');
    const fields = lines.map(line => line.split(': ') as [string, string]);
    const status = fields.find(([name]) => name === 'Status')?.[1];
    response.writeHead(status ? Number.parseInt(status, 10) : 200, Object.fromEntries(fields));
    response.write(head.subarray(end + 4));
    head = undefined;
  });
  backend.stdout.once('end', () => response.end());
}
