/** Agent runs of two model calls and one tool, against a hand-written loop with the same commits; the first event. */
import path from 'node:path';
import { startPostgres } from '../../dist/libs/embedded-postgres/index.js';
import { atelier, bench, compare, folder, median, report, serve } from './lib.mjs';

const post = (url, headers, body) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

/** Runs a second with `inFlight` at a time. */
async function rate(inFlight, count, one) {
  let left = count;
  const start = performance.now();
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (left-- > 0) await one();
    }),
  );
  return (count / (performance.now() - start)) * 1000;
}

await bench(async () => {
  const DATA_DIR = folder();
  const seed = await atelier({ DATA_DIR });
  const exited = new Promise(resolve => seed.child.once('exit', resolve));
  seed.child.kill('SIGTERM');
  await exited;
  const postgres = await startPostgres({ dataDir: path.join(DATA_DIR, 'postgres'), database: 'atelier' });
  try {
    const DATABASE_URL = postgres.url;
    const service = await atelier({ DATA_DIR, DATABASE_URL });
    const { api_key, workspace_id } = service.credentials;
    const headers = { 'x-api-key': api_key };
    const floor = await serve(['test/bench/floors/run-loop.mjs'], { DATABASE_URL, WORKSPACE: folder() });
    let serial = 0;
    const send = () =>
      post(`${service.url}/api/agent/message`, headers, {
        workspace_id,
        message: `write bench/${serial++}.txt: Hello`,
      });
    const ours = async () => {
      const { call_id } = await (await send()).json();
      const status = await (
        await fetch(`${service.url}/api/agent/status/${call_id}?wait=60`, { headers })
      ).json();
      if (status.status !== 'completed') throw new Error(JSON.stringify(status));
    };
    const theirs = async () => (await post(floor.url, {}, { message: 'write hello.txt: Hello' })).json();
    await rate(8, 64, ours);
    for (const [inFlight, goal] of [
      [1, ''],
      [8, 'goal >= 0.5'],
      [32, ''],
    ]) {
      const count = inFlight * 24;
      const result = await compare(
        3,
        () => rate(inFlight, count, ours),
        () => rate(inFlight, count * 2, theirs),
      );
      report(
        `runs, ${inFlight} in flight`,
        result.ours / result.floor,
        goal,
        `${result.ours | 0} of ${result.floor | 0} runs/s`,
      );
    }

    const waits = [];
    for (let i = 0; i < 20; i++) {
      const start = performance.now();
      const { call_id } = await (await send()).json();
      const sent = performance.now();
      const response = await fetch(`${service.url}/api/agent/runs/${call_id}/events`, { headers });
      for await (const chunk of response.body) if (Buffer.from(chunk).includes('run.started')) break;
      waits.push(performance.now() - start);
      await (await fetch(`${service.url}/api/agent/status/${call_id}?wait=60`, { headers })).json();
      if (i === 0) report('accepting a message', sent - start, '', 'ms, the first');
    }
    report('send to run.started', median(waits), '', 'ms, median of 20');
  } finally {
    await postgres.stop();
  }
});
