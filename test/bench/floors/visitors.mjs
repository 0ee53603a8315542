/**
 * Visitors of a hosted site: `RATE` requests a second over 16 connections, and 500 uploads that send a byte a second. Arguments: the
 * address, and the host. Says `ready` once all of them are under way, and goes on until it is ended.
 */
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';

const RATE = 5000;
const TICK_MS = 10;
const UPLOADS = 500;
const [url = '', host = ''] = process.argv.slice(2);
const { port } = new URL(url);
const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });

const uploads = [];
for (let n = 0; n < UPLOADS; n++) {
  // From several addresses: one may have so many open at once.
  const socket = net.connect({
    port: Number(port),
    host: '127.0.0.1',
    localAddress: `127.0.0.${2 + (n % 10)}`,
  });
  socket.on('error', () => undefined);
  socket.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1000000\r\n\r\n`);
  uploads.push(socket);
}
await Promise.all(uploads.map(socket => once(socket, 'connect')));
setInterval(() => {
  for (const socket of uploads) if (!socket.destroyed) socket.write('x');
}, 1000);

let waiting = 0;
let begun = performance.now();
setInterval(() => {
  const due = Math.floor(((performance.now() - begun) * RATE) / 1000);
  begun += (due * 1000) / RATE;
  // What is behind is not made up for.
  for (let n = 0; n < due && waiting < 256; n++) {
    waiting++;
    http
      .get(url, { agent, headers: { host } }, response => {
        response.resume();
        response.once('close', () => waiting--);
      })
      .once('error', () => waiting--);
  }
}, TICK_MS);
process.stdout.write('ready\n');
