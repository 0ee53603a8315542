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

// Little is read into one buffer that all connections share, and copied; a connection that brings much gets a large one of its own.
const LITTLE = 16 * 1024;
const MUCH = 256 * 1024;
const MAX_LARGE = 16;
const shared = Buffer.allocUnsafeSlow(LITTLE);
const large = [];
let made = 0;
function largeBuffer() {
  if (large.length > 0) return large.pop();
  if (made === MAX_LARGE) return undefined;
  made++;
  return Buffer.allocUnsafeSlow(MUCH);
}

// Reads from a connection: what comes goes to take, which returns false to have no more until it resumes the connection.
function reader() {
  let own;
  const self = {
    take: () => false,
    onread: {
      buffer: () => own || shared,
      callback: (length, buffer) => self.take(buffer.subarray(0, length), buffer === shared),
    },
    // From now on all that comes from one side goes to the other.
    copy(from, to) {
      to.on('drain', () => from.resume());
      from.on('end', () => to.end());
      // Nothing is sent any more, and nothing read.
      from.on('close', () => { if (own) large.push(own); own = undefined; });
      self.take = (bytes, isShared) => {
        if (isShared) {
          if (bytes.length === LITTLE) own = largeBuffer();
          return to.write(Buffer.from(bytes));
        }
        const isTaken = to.write(bytes);
        if (to.writableLength > 0) {
          // It is read into again when all of it is sent.
          if (!isTaken) return false;
          // It belongs to what waits to be sent.
          made--;
          own = undefined;
        } else if (bytes.length < LITTLE) {
          large.push(own);
          own = undefined;
        }
        return isTaken || to.writableLength === 0;
      };
    },
  };
  return self;
}

function dial(port, hosts, done) {
  const [host, ...others] = hosts;
  const input = reader();
  const socket = net.connect({ host, port, allowHalfOpen: true, noDelay: true, onread: input.onread });
  const failed = () => (others.length > 0 ? dial(port, others, done) : done());
  socket.once('error', failed);
  socket.once('connect', () => { socket.off('error', failed); done(socket, input); });
}

function spare() {
  const input = reader();
  const far = net.connect({ path, allowHalfOpen: true, onread: input.onread }, () => far.write('s'));
  const drop = () => far.destroy();
  far.on('error', drop);
  let head = '';
  input.take = bytes => {
    head += bytes.latin1Slice();
    const at = head.indexOf('\\n');
    if (at > 5 || (at < 0 && head.length > 5)) drop();
    else if (at >= 0) begin(Number(head.slice(0, at)), Buffer.from(head.slice(at + 1), 'latin1'));
    return at < 0;
  };
  const begin = (port, early) => dial(port, ['127.0.0.1', '::1'], (near, output) => {
    if (far.destroyed) return near && near.destroy();
    if (!near) return far.end('-');
    far.write('+');
    near.on('error', () => { near.destroy(); far.destroy(); });
    // What it has sent still goes out.
    near.on('close', () => far.destroySoon());
    far.on('close', () => near.destroy());
    if (early.length > 0) near.write(early);
    input.copy(far, near);
    output.copy(near, far);
    far.resume();
  });
}

const control = net.connect(path, () => control.write('c'));
control.on('error', () => {}).on('close', () => process.exit());
let rest = '';
control.setEncoding('latin1').on('data', text => {
  const lines = (rest + text).split('\\n');
  rest = lines.pop();
  for (const line of lines) {
    const [word, count] = line.split(' ');
    if (word === 'need') for (let n = 0; n < Number(count); n++) spare();
    if (word === 'end') signalAll('SIGTERM');
    if (word === 'alive') stayAlive();
    if (word === 'ports') control.write(ports().join(' ') + '\\n');
  }
});
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
