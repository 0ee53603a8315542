/** Without a sign of life of the host for so long, the program ends all of the sandbox. */
const SILENCE_MS = 8_000;

/**
 * A program for Node.js that runs inside a sandbox without network. It connects to the Unix socket `door.sock` beside it, from
 * inside to outside only:
 *
 * - once for control: it writes `c`. The host writes lines: `need 5` asks for as many spare connections, `end` to send SIGTERM to all
 *   other programs, `alive` (then it ends them all where no other follows within eight seconds), `ports` for the ports of TCP that
 *   listen in the sandbox, which it answers by a line with their numbers.
 * - for each spare connection: it writes `s` and waits. The host writes a port and a line feed; the program connects to it on
 *   127.0.0.1 or ::1, answers `+` or `-`, and copies bytes in both directions.
 *
 * It ends when the control connection does. With a path as its argument it runs that module first, such as the relay of
 * `egress-proxy`, so that both need one process.
 */
export const doorSource = `'use strict';
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path').join(__dirname, 'door.sock');
const relay = process.argv[2];
if (relay) require(relay);

// To every process of the sandbox but itself and the first.
function signalAll(name) {
  try { process.kill(-1, name); } catch {}
}

let deadline;
function stayAlive() {
  clearTimeout(deadline);
  deadline = setTimeout(() => { signalAll('SIGKILL'); process.exit(); }, ${SILENCE_MS});
}

const LISTEN = '0A';
function ports() {
  const found = new Set();
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    let text = '';
    try { text = fs.readFileSync(file, 'latin1'); } catch {}
    for (const line of text.split('\\n').slice(1)) {
      const [, local, , state] = line.trim().split(/\\s+/);
      if (state === LISTEN) found.add(parseInt(local.slice(local.indexOf(':') + 1), 16));
    }
  }
  return [...found].sort((a, b) => a - b).slice(0, 100);
}

function dial(port, hosts, done) {
  const [host, ...others] = hosts;
  const socket = net.connect({ host, port, allowHalfOpen: true, noDelay: true });
  const failed = () => (others.length > 0 ? dial(port, others, done) : done());
  socket.once('error', failed);
  socket.once('connect', () => { socket.off('error', failed); done(socket); });
}

function join(far, near) {
  const end = () => { near.destroy(); far.destroy(); };
  near.on('error', end).on('close', end);
  far.on('error', end).on('close', end);
  near.pipe(far).pipe(near);
}

function spare() {
  const far = net.connect({ path, allowHalfOpen: true }, () => far.write('s'));
  const drop = () => far.destroy();
  far.on('error', drop);
  let head = '';
  far.on('data', function take(bytes) {
    const at = bytes.indexOf(10);
    head += bytes.latin1Slice(0, at < 0 ? bytes.length : at);
    if (at < 0) return head.length > 5 ? drop() : undefined;
    far.off('data', take);
    far.pause();
    if (at + 1 < bytes.length) far.unshift(bytes.subarray(at + 1));
    dial(Number(head), ['127.0.0.1', '::1'], near => {
      if (far.destroyed) return near && near.destroy();
      if (!near) return far.end('-');
      far.write('+');
      join(far, near);
    });
  });
}

const control = net.connect(path, () => control.write('c'));
control.on('error', () => {}).on('close', () => process.exit());
require('node:readline').createInterface({ input: control }).on('line', line => {
  const [word, count] = line.split(' ');
  if (word === 'need') for (let n = 0; n < Number(count); n++) spare();
  if (word === 'end') signalAll('SIGTERM');
  if (word === 'alive') stayAlive();
  if (word === 'ports') control.write(ports().join(' ') + '\\n');
}).on('error', () => {});
`;

/**
 * Shell commands that start the program in the background, and wait for the relay where there is one; they leave nothing of
 * themselves to the commands that follow.
 *
 * @param node path of Node.js, @param folder of the door, and @param relay a module to run with it, all inside
 */
export function startDoor(node: string, folder: string, relay?: string): string {
  const program = [node, `${folder}/door.cjs`, ...(relay === undefined ? [] : [relay])];
  const words = program.map(word => `"${word}"`).join(' ');
  if (relay === undefined) return `(${words} </dev/null >/dev/null 2>&1 &)`;
  return `read -r _ < <( (${words} </dev/null 2>/dev/null &) )`;
}
