import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';

/**
 * Runs a step that only one process on this machine may run at a time; the others wait until it is done.
 * A listening socket is the lock: the kernel lets go of it when its holder dies, and whoever waits is connected to
 * it and so hears of the end at once. On Linux its name is in the abstract namespace and leaves no file.
 */
export async function exclusively(name, step) {
  const address = addressOf(name);
  let server = await listen(address);
  if (!server) console.log('… Waiting for another process that is at the same step');
  while (!server) {
    await untilReleased(address);
    server = await listen(address);
  }
  try {
    return await step();
  } finally {
    server.release();
  }
}

function addressOf(name) {
  const id = `atelier-${createHash('sha256').update(name).digest('hex').slice(0, 16)}`;
  return process.platform === 'linux' ? `\0${id}` : path.join(os.tmpdir(), `${id}.sock`);
}

function listen(address) {
  return new Promise((resolve, reject) => {
    const waiting = new Set();
    const server = net.createServer(socket => {
      waiting.add(socket);
      socket.on('error', () => waiting.delete(socket)); // a waiter that gave up needs no answer
      socket.on('close', () => waiting.delete(socket));
    });
    server.release = () => {
      server.close();
      for (const socket of waiting) socket.destroy();
    };
    server.once('error', error => (error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error)));
    server.listen(address, () => resolve(server));
  });
}

function untilReleased(address) {
  return new Promise(resolve => {
    const socket = net.connect(address);
    socket.resume();
    socket.once('error', error => {
      // A file without a listener is what a killed holder leaves where sockets are files.
      if (error.code === 'ECONNREFUSED' && !address.startsWith('\0')) rmSync(address, { force: true });
    });
    socket.once('close', resolve);
  });
}
