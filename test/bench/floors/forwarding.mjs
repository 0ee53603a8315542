/** What stands between a client and a program on a port of this machine: argv[2] is the port to listen on, argv[3] that of the program. */
import http from 'node:http';
import net from 'node:net';
import { proxyRequest, proxyUpgrade, Upstream } from '../../../dist/libs/reverse-proxy/index.js';

const [, , port, target] = process.argv;
const upstream = new Upstream(
  () =>
    new Promise((resolve, reject) => {
      const socket = net.connect({
        host: '127.0.0.1',
        port: Number(target),
        noDelay: true,
        allowHalfOpen: true,
      });
      socket.once('connect', () => resolve(socket)).once('error', reject);
    }),
);
const rules = { scheme: 'http' };
const fail = thing => () => thing.destroy();
http
  .createServer((request, response) => {
    proxyRequest(request, response, upstream, rules).catch(fail(response));
  })
  .on('upgrade', (request, socket, head) => {
    proxyUpgrade({ request, socket, head }, upstream, rules).catch(fail(socket));
  })
  .listen(Number(port), '127.0.0.1', () => console.log('ready'));
