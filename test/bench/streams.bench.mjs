/** Watching runs: the first text after a message was sent, a thousand streams at once, and events a second. */
import http from 'node:http';
import { atelier, bench, database, median, memoryMb, postJson, report, serve } from './lib.mjs';

const STREAMS = 1000;

/** Opens a stream of events; `onEvent` gets the type of each. */
function watch(url, headers, onEvent) {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { headers, agent: false }, response => {
      let rest = '';
      response.setEncoding('utf8');
      response.on('data', chunk => {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop();
        for (const line of lines) if (line.startsWith('event: ')) onEvent(line.slice(7));
      });
      response.on('error', () => undefined);
      resolve(() => request.destroy());
    });
    request.once('error', reject);
    request.on('error', () => undefined);
  });
}

/** Resolves at the next event of a type. */
function signal() {
  let wake = () => undefined;
  return {
    next: () =>
      new Promise(resolve => {
        wake = resolve;
      }),
    wake: () => wake(),
  };
}

/** Resolves when nothing has been counted for half a second, with when the last was. */
async function quiet(count) {
  let at = performance.now();
  for (let seen = count(); performance.now() - at < 500; ) {
    await new Promise(resolve => setTimeout(resolve, 20));
    if (count() !== seen) at = performance.now();
    seen = count();
  }
  return at;
}

await bench(async () => {
  const { DATA_DIR, DATABASE_URL } = await database();
  const service = await atelier({ DATA_DIR, DATABASE_URL });
  const { api_key, workspace_id } = service.credentials;
  const headers = { 'x-api-key': api_key };
  const send = fields => postJson(`${service.url}/api/agent/message`, headers, { workspace_id, ...fields });
  const { chat_id, call_id } = await send({ message: 'Hello' });
  await fetch(`${service.url}/api/agent/status/${call_id}?wait=60`, { headers });
  const stream = `${service.url}/api/chats/${chat_id}/events`;

  const text = signal();
  const end = signal();
  const stop = await watch(stream, headers, type => {
    if (type === 'text.delta') text.wake();
    if (type === 'run.completed') end.wake();
  });
  const floor = await serve(['test/bench/floors/run-loop.mjs'], { DATABASE_URL, WORKSPACE: DATA_DIR });
  const waits = { ours: [], floor: [] };
  for (let round = 0; round < 50; round++) {
    let start = performance.now();
    await postJson(`${floor.url}/first`, {}, { message: 'Hello' });
    waits.floor.push(performance.now() - start);
    const [first, last] = [text.next(), end.next()];
    start = performance.now();
    const sent = send({ chat_id, message: 'Hello' });
    await first;
    waits.ours.push(performance.now() - start);
    await Promise.all([sent, last]);
  }
  stop();
  const [ours, least] = [median(waits.ours), median(waits.floor)];
  const figures = `${ours.toFixed(1)} ms; ${least.toFixed(1)} ms for one commit and an answer`;
  report('first text after send, ms added', ours - least, 'goal <= 2.5', figures);

  const before = memoryMb(service.child.pid);
  let received = 0;
  const stops = [];
  for (let at = 0; at < STREAMS; at += 50)
    stops.push(
      ...(await Promise.all(Array.from({ length: 50 }, () => watch(stream, headers, () => received++)))),
    );
  // Each is told what happened before it came.
  await quiet(() => received);
  const each = ((memoryMb(service.child.pid) - before) * 1024) / STREAMS;
  report('a stream, KB', each, '', `${STREAMS} open at once`);

  received = 0;
  const start = performance.now();
  const { call_id: last } = await send({ chat_id, message: 'write stream.txt: Hello' });
  await fetch(`${service.url}/api/agent/status/${last}?wait=60`, { headers });
  const seconds = ((await quiet(() => received)) - start) / 1000;
  report('events a second', received / seconds, '', `${received} to ${STREAMS} streams, from one run`);
  for (const close of stops) close();
});
