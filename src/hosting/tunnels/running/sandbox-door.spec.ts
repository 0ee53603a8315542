import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createSandbox, type SandboxResult } from '#libs/sandbox/index.js';
import { DoorClosed, PortRefused, SandboxDoor, startDoor } from '#libs/sandbox-door/index.js';

const owner = process.getuid?.() === 0 ? { uid: 200_041, gid: 200_041 } : undefined;
const sandbox = createSandbox('bubblewrap', {
  readOnlyBinds: [{ from: dirname(process.execPath), to: '/opt/node/bin' }],
});

let folder: string;
let door: SandboxDoor;
let stop: AbortController;
let running: Promise<SandboxResult> | undefined;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sandbox-door-'));
  chmodSync(folder, 0o755);
  for (const name of ['door', 'workspace']) mkdirSync(join(folder, name));
  if (owner) chownSync(join(folder, 'workspace'), owner.uid, owner.gid);
  door = await SandboxDoor.open(join(folder, 'door'), owner);
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await Promise.all([running, door.close()]);
  running = undefined;
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the program of the door in a sandbox, then a script; resolves when the script has said `up`. */
async function start(script: string): Promise<string[]> {
  const output: string[] = [];
  const opened = once(door, 'open');
  let isUp = () => {};
  const up = new Promise<void>(resolve => {
    isUp = resolve;
  });
  running = sandbox.run({
    workspace: join(folder, 'workspace'),
    owner,
    argv: ['bash', '-c', `${startDoor('/opt/node/bin/node', '/run/door')}; ${script}`],
    env: { PATH: '/opt/node/bin:/usr/bin:/bin' },
    readOnlyBinds: [{ from: join(folder, 'door'), to: '/run/door' }],
    limits: { openFiles: 8192 },
    signal: stop.signal,
    onOutput: chunk => {
      output.push(chunk.text);
      if (output.join('').includes('up\n')) isUp();
    },
  });
  await Promise.race([Promise.all([up, opened]), running]);
  return output;
}

/** A program for Node.js in the workspace. */
function program(source: string): string {
  writeFileSync(join(folder, 'workspace', 'server.cjs'), source);
  return 'exec node server.cjs';
}

const listening = (host: string, handler: string) =>
  program(`require('node:http').createServer(${handler}).listen(3000, '${host}', () => console.log('up'));`);

/** Shell commands that send a signal to the program of the door. */
const signal = (name: string) =>
  `for p in /proc/[0-9]*; do [ "$(readlink $p/exe)" = /opt/node/bin/node ] && kill -${name} "\${p#/proc/}"; done`;

function ask(path = '/', { body = '', port = 3000 } = {}): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    door.connect(port).then(socket => {
      const request = http.request({ createConnection: () => socket, path, method: body ? 'POST' : 'GET' });
      request.once('response', resolve).once('error', reject).end(body);
    }, reject);
  });
}

describe('a server in a sandbox without network', () => {
  it.each(['127.0.0.1', '::1', '0.0.0.0', '::'])('is reached where it listens on %s', async host => {
    await start(listening(host, "(request, response) => response.end('hello ' + request.url)"));
    expect(await text(await ask('/a'))).toBe('hello /a');
    expect(await door.ports()).toEqual([3000]);
    await expect(door.connect(3001)).rejects.toThrow(PortRefused);
  });

  it('answers many at once', async () => {
    await start(listening('127.0.0.1', '(request, response) => request.pipe(response)'));
    const bodies = Array.from({ length: 500 }, (_, n) => `body ${n} `.repeat(1000));
    const answers = await Promise.all(bodies.map(async body => text(await ask('/', { body }))));
    expect(answers.every((answer, n) => answer === bodies[n])).toBe(true);
  });

  it('is sent no more than it takes, and sends no more than is taken', async () => {
    const endless =
      "(request, response) => { const more = () => { while (response.write('x'.repeat(65536))); }; response.on('drain', more); more(); }";
    await start(
      listening(
        '127.0.0.1',
        `(request, response) => request.method === 'GET' ? (${endless})(request, response) : null`,
      ),
    );
    const answer = await ask();
    const socket = await door.connect(3000);
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    const send = () => {
      while (socket.write(chunk));
    };
    socket.on('drain', send);
    send();
    // The other direction goes on meanwhile.
    let taken = 0;
    for await (const bytes of answer) {
      taken += bytes.length;
      if (taken > 64 * 1024 * 1024) break;
    }
    expect(socket.writableLength).toBeGreaterThan(0);
    expect(socket.bytesWritten).toBeLessThan(32 * 1024 * 1024);
    socket.destroy();
  });

  it('may end its side and go on reading', async () => {
    await start(
      program(`require('node:net').createServer({ allowHalfOpen: true }, socket => {
        socket.end('first');
        socket.on('data', bytes => console.log('got ' + bytes)).on('end', () => console.log('over'));
      }).listen(3000, '127.0.0.1', () => console.log('up'));`),
    ).then(async output => {
      const socket = await door.connect(3000);
      expect(await text(socket)).toBe('first');
      socket.end('last');
      while (!output.join('').includes('over')) await new Promise(resolve => setTimeout(resolve, 5));
      expect(output.join('')).toContain('got last');
    });
  });

  it('leaves nothing open when clients break off', async () => {
    await start(listening('127.0.0.1', '(request, response) => response.write("begin")'));
    const descriptors = () => readdirSync('/proc/self/fd').length;
    await (await ask()).socket.destroy();
    const before = descriptors();
    for (let n = 0; n < 300; n++) (await ask()).socket.destroy();
    // Spare connections come back after those that were taken.
    while (descriptors() > before + 16) await new Promise(resolve => setTimeout(resolve, 5));
    expect((await ask()).statusCode).toBe(200);
  });
});

describe('a door', () => {
  it('tells that its program has ended, and refuses from then on', async () => {
    const lost = once(door, 'lost');
    await start(
      'echo up; until [ -e go ]; do sleep 0.02; done; kill -9 $(grep -la door.cjs /proc/[0-9]*/cmdline | cut -d/ -f3 | grep -v $$); sleep 100',
    );
    writeFileSync(join(folder, 'workspace', 'go'), '');
    await lost;
    expect(door.isOpen).toBe(false);
    await expect(door.connect(3000)).rejects.toThrow(DoorClosed);
    await expect(door.ports()).rejects.toThrow(DoorClosed);
  });

  it('asks all programs to end, and ends them where the host falls silent', async () => {
    const output = await start("trap 'echo asked' TERM; echo up; while true; do sleep 0.05; done");
    expect(door.terminate()).toBe(true);
    while (!output.join('').includes('asked')) await new Promise(resolve => setTimeout(resolve, 5));
    door.beat();
    expect(await running).toMatchObject({ signal: 'SIGKILL' });
  });

  it('waits no longer than its caller', async () => {
    const output = await start(
      `echo up; until [ -e go ]; do sleep 0.02; done; ${signal('STOP')}; echo stopped; sleep 100`,
    );
    writeFileSync(join(folder, 'workspace', 'go'), '');
    while (!output.join('').includes('stopped')) await new Promise(resolve => setTimeout(resolve, 5));
    await expect(door.connect(3000, AbortSignal.timeout(200))).rejects.toThrow('timeout');
  });

  it('keeps few of the connections that programs open, and no long lines', async () => {
    await start('echo up; sleep 100');
    const path = join(folder, 'door', 'door.sock');
    const sockets = Array.from({ length: 200 }, () => connect(path).on('error', () => {}));
    for (const socket of sockets) socket.write('s');
    const closed = () => sockets.filter(({ destroyed, readableEnded }) => destroyed || readableEnded).length;
    for (const socket of sockets) socket.resume();
    while (closed() < 200 - 64) await new Promise(resolve => setTimeout(resolve, 5));
    for (const socket of sockets) socket.destroy();
    const second = connect(path).resume();
    second.write('c');
    await once(second, 'close');
    expect(door.isOpen).toBe(true);
  });

  it('is lost to a program that answers what was not asked', async () => {
    const lost = once(door, 'lost');
    const control = connect(join(folder, 'door', 'door.sock')).on('error', () => {});
    control.write('c');
    await once(door, 'open');
    control.write('1\n'.repeat(1000));
    await lost;
    expect(door.isOpen).toBe(false);
    control.destroy();
  });

  it('runs the program of an egress relay with its own', async () => {
    writeFileSync(
      join(folder, 'workspace', 'relay.cjs'),
      "process.stdout.write('ready\\n', () => process.stdout.destroy());",
    );
    const opened = once(door, 'open');
    running = sandbox.run({
      workspace: join(folder, 'workspace'),
      owner,
      argv: [
        'bash',
        '-c',
        `${startDoor('/opt/node/bin/node', '/run/door', '/workspace/relay.cjs')}; sleep 100`,
      ],
      env: { PATH: '/opt/node/bin:/usr/bin:/bin' },
      readOnlyBinds: [{ from: join(folder, 'door'), to: '/run/door' }],
      signal: stop.signal,
    });
    await opened;
    expect(await door.ports()).toEqual([]);
  });
});
