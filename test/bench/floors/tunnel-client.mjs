/** Asks a host through a proxy on a socket, one request after the other: `socket host:port authority path count`; prints ms and bytes. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { connect } from 'node:net';
import { connect as tlsConnect } from 'node:tls';

const [, , socket, target, authority, at, count] = process.argv;
const [host, port] = target.split(':');
const ca = readFileSync(authority, 'utf8');
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
agent.createConnection = (_options, done) => {
  const tunnel = connect(socket);
  tunnel.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  tunnel.once('data', () =>
    done(null, tlsConnect({ socket: tunnel, host, ca, checkServerIdentity: () => undefined })),
  );
  tunnel.once('error', done);
};

let bytes = 0;
async function get() {
  const asked = request({ agent, host, port, path: at });
  asked.end();
  const [response] = await once(asked, 'response');
  if (response.statusCode !== 200) throw new Error(`${at} answered ${response.statusCode}`);
  for await (const chunk of response) bytes += chunk.length;
}

await get();
bytes = 0;
const begun = performance.now();
for (let done = 0; done < Number(count); done++) await get();
console.log(JSON.stringify({ ms: performance.now() - begun, bytes }));
agent.destroy();
