/** Where programs inside a sandbox find the proxy. */
export const RELAY_PORT = 3128;

/**
 * A program for Node.js that runs inside a sandbox without network: it hands what comes to 127.0.0.1:3128 to the Unix
 * socket `egress.sock` beside it, and says `ready` when it listens.
 */
export const relaySource = `const net = require('node:net');
const path = require('node:path').join(__dirname, 'egress.sock');
const server = net.createServer({ allowHalfOpen: true }, near => {
  const far = net.connect({ path, allowHalfOpen: true });
  const end = () => { near.destroy(); far.destroy(); };
  near.on('error', end).on('close', end);
  far.on('error', end).on('close', end);
  near.pipe(far).pipe(near);
});
server.on('error', () => process.exit(1));
server.listen(${RELAY_PORT}, '127.0.0.1', () => process.stdout.write('ready\\n', () => process.stdout.destroy()));
`;

/** Variables that make curl, git, npm, pip and most other programs use the proxy. */
export function proxyVariables(): Record<string, string> {
  const proxy = `http://127.0.0.1:${RELAY_PORT}`;
  const here = 'localhost,127.0.0.1,::1';
  return {
    HTTP_PROXY: proxy,
    http_proxy: proxy,
    HTTPS_PROXY: proxy,
    https_proxy: proxy,
    ALL_PROXY: proxy,
    all_proxy: proxy,
    NO_PROXY: here,
    no_proxy: here,
    // Node's own fetch looks at the variables above only when asked to.
    NODE_USE_ENV_PROXY: '1',
  };
}

/**
 * Shell commands that start the relay in the background and wait until it listens; they leave nothing of themselves to
 * the commands that follow.
 *
 * @param node path of Node.js, and @param folder of the relay, both inside
 */
export function startRelay(node: string, folder: string): string {
  const relay = `"${node}" "${folder}/relay.cjs" </dev/null 2>/dev/null &`;
  return `read -r _ < <( (${relay}) )`;
}
