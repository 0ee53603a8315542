/**
 * Agent runs of two model calls over HTTP and one tool: how many a second, and what one costs the processor, against a hand-written
 * loop with the same commits and against the AI SDK's provider in a loop in memory.
 */
import { run as runInMemory } from './floors/sdk-loop.mjs';
import { atelier, bench, compare, cpuMs, database, folder, median, postJson, report, serve } from './lib.mjs';

/** Runs before anything is measured. */
const WARM_UP = 1000;

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

/** Milliseconds of processor time that `child` spends on one of `count` runs. */
async function costOf(child, count, one) {
  const before = cpuMs(child.pid);
  await rate(8, count, one);
  return (cpuMs(child.pid) - before) / count;
}

await bench(async () => {
  const { DATA_DIR, DATABASE_URL } = await database();
  const model = await serve(['test/bench/floors/writing-model.mjs']);
  const service = await atelier({
    DATA_DIR,
    DATABASE_URL,
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'bench',
    DEFAULT_MODEL: 'local/bench',
  });
  const { api_key, workspace_id } = service.credentials;
  const headers = { 'x-api-key': api_key };
  const floor = await serve(['test/bench/floors/run-loop.mjs'], {
    DATABASE_URL,
    MODEL_URL: model.url,
    WORKSPACE: folder(),
  });
  let serial = 0;
  const ours = async () => {
    const message = `write bench/${serial++}.txt: Hello`;
    const sent = await postJson(`${service.url}/api/agent/message`, headers, { workspace_id, message });
    const answer = await fetch(`${service.url}/api/agent/status/${sent.call_id}?wait=60`, { headers });
    const status = await answer.json();
    if (status.status !== 'completed') throw new Error(JSON.stringify(status));
  };
  const theirs = () => postJson(floor.url, {}, { message: 'write hello.txt: Hello' });
  const inMemory = () => runInMemory('write hello.txt: Hello');
  // Until JavaScript is compiled for speed, a service is slower than it is for the rest of its life; the floor has little of it.
  await rate(8, WARM_UP, ours);
  await rate(8, WARM_UP, theirs);
  await rate(1, 200, inMemory);

  for (const [inFlight, goal] of [
    [1, ''],
    [8, 'goal >= 0.5'],
    [32, ''],
  ]) {
    const count = inFlight * 16;
    const result = await compare(
      3,
      () => rate(inFlight, count, ours),
      () => rate(inFlight, count * 2, theirs),
    );
    const figures = `${result.ours | 0} of ${result.floor | 0} runs/s, hand-written and durable`;
    report(`runs, ${inFlight} in flight`, result.ours / result.floor, goal, figures);
    const memory = await rate(inFlight, count * 4, inMemory);
    report('  against the SDK in memory', result.ours / memory, '', `of ${memory | 0} runs/s`);
  }

  const costs = { ours: [], floor: [] };
  for (let round = 0; round < 3; round++) {
    costs.floor.push(await costOf(floor.child, 100, theirs));
    costs.ours.push(await costOf(service.child, 100, ours));
  }
  const [cost, least] = [median(costs.ours), median(costs.floor)];
  report('processor time of a run, ms', cost, 'goal <= 1', `hand-written ${least.toFixed(2)}; no sandbox`);
});
