import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { FakeOpenAi } from '../fakes/openai-server.js';
import { type AgentGround, startAgents } from '../harness/agent.js';
import type { Json } from '../harness/client.js';
import { Loops } from '../harness/loops.js';
import type { ServiceProcess } from './service-process.js';
import { Standstill } from './standstill.js';
import { Workers } from './workers.js';

const PATIENCE = 300_000;

let ground: AgentGround;
let model: FakeOpenAi;
let loops: Loops;
let workers: Workers;

beforeAll(async () => {
  ground = await startAgents({
    ROLE: 'api',
    OPENAI_COMPATIBLE_MODELS: 'worker,grader',
    DEFAULT_MODEL: 'local/worker',
  });
  ({ model } = ground);
  workers = new Workers(ground);
  loops = new Loops(ground.ada.client, await ground.service.workspace(ground.ada), {
    max_iterations: 3,
    budget: { max_seconds: 3600 },
  });
}, PATIENCE);
afterEach(() => workers.stop(), PATIENCE);
afterAll(() => ground.stop(), PATIENCE);

const RUBRIC = { rubric: '- is done', grader_model: 'local/grader' };
const MET = { text: '{"criteria": [{"id": "c1", "met": true, "evidence": "seen"}], "summary": "Done."}' };
const asked = (name: string) => model.requests.filter(({ body }) => body.model === name).length;

/** Kills the workers when one of their statements stands still, then lets new ones go on. */
async function killedAt(
  table: string,
  event: string,
  when: string,
  loop: () => Promise<Json>,
): Promise<Json> {
  const still = await Standstill.begin(ground.service, { table, event, when });
  let started: Json;
  try {
    started = await loop();
    await workers.start();
    await still.reached();
    await workers.kill();
    await still.undo();
  } finally {
    await still.end();
  }
  await workers.start();
  return loops.ended(started);
}

describe('a loop whose worker is killed', () => {
  it(
    'between the end of a run and its grading has run it once',
    async () => {
      model.otherwise(({ body }) => (body.model === 'grader' ? MET : { text: 'Done.' }));
      const [worker, grader] = [asked('worker'), asked('grader')];
      const loop = await killedAt(
        'loop',
        'before update',
        `new.state = 'grading' and old.state = 'running'`,
        () => loops.start({ prompt: 'Do it.', until: RUBRIC }),
      );
      expect(loop).toMatchObject({ outcome: 'satisfied', iteration: 1 });
      expect(loop.iterations).toHaveLength(1);
      expect([asked('worker') - worker, asked('grader') - grader]).toEqual([1, 1]);
    },
    PATIENCE,
  );

  it(
    'while it grades is graded by another, and its check, which is written down, is not run again',
    async () => {
      const [worker, grader] = [asked('worker'), asked('grader')];
      model.otherwise(({ body }) => (body.model === 'grader' ? { hang: true } : { text: 'Done.' }));
      await workers.start();
      const check = { run: 'bash', code: 'date +%s%N' };
      const started = await loops.start({ prompt: 'Do it.', until: { ...RUBRIC, check } });
      const { data } = await loops.until(started, ({ event }) => event === 'iteration.checked');
      await model.received(model.requests.length + (asked('grader') > grader ? 0 : 1));
      await workers.kill();
      model.otherwise(({ body }) => (body.model === 'grader' ? MET : { text: 'Done.' }));
      await workers.start();
      const loop = await loops.ended(started);
      expect(loop).toMatchObject({ outcome: 'satisfied', iteration: 1 });
      expect(loop.iterations[0].checks).toEqual(data.checks);
      expect([asked('worker') - worker, asked('grader') - grader]).toEqual([1, 2]);
    },
    PATIENCE,
  );

  it(
    'as it begins an iteration begins it once',
    async () => {
      model.otherwise(({ body }) => (body.model === 'grader' ? MET : { text: 'Done.' }));
      const worker = asked('worker');
      const loop = await killedAt('loop_iteration', 'before insert', 'true', () =>
        loops.start({ prompt: 'Do it.', until: RUBRIC }),
      );
      expect(loop).toMatchObject({ outcome: 'satisfied', iteration: 1 });
      expect(asked('worker') - worker).toBe(1);
      const { body } = await loops.client.get(`/api/agent/runs?chat_id=${loop.chat_id}`);
      expect(body.items).toHaveLength(1);
    },
    PATIENCE,
  );

  it(
    'or stopped is taken over, whatever the number of workers',
    async () => {
      let turns = 0;
      model.otherwise(({ body }) => {
        if (body.model === 'worker') return { text: 'Done.' };
        turns += 1;
        return turns % 2 === 0 ? MET : { text: MET.text.replace('true', 'false') };
      });
      await Promise.all([workers.start(), workers.start()]);
      const made = await Promise.all(
        Array.from({ length: 6 }, () => loops.start({ prompt: 'Do it.', until: RUBRIC, stall_after: 3 })),
      );
      const ended = await Promise.all(made.map(loop => loops.ended(loop)));
      for (const { outcome, iteration, iterations } of ended) {
        expect(['satisfied', 'exhausted']).toContain(outcome);
        expect(iterations.map(({ number }: Json) => number)).toEqual(
          Array.from({ length: iteration }, (_, index) => index + 1),
        );
      }
      const runs = await ground.service.database.query<{ loop_id: string; runs: number; iterations: number }>(
        `select l.id as loop_id, l.iteration as iterations,
           (select count(*)::int from run r where r.loop_id = l.id) as runs
         from loop l where l.id = any($1)`,
        [made.map(({ id }) => id)],
      );
      for (const row of runs) expect(row.runs).toBe(row.iterations);
    },
    PATIENCE,
  );
});

describe('a worker that is told to end while it checks', () => {
  /** Begins a check that goes on until there is a file of this name. */
  async function checking(
    name: string,
    drainSeconds: number,
  ): Promise<{ loop: Json; worker: ServiceProcess }> {
    model.otherwise(({ body }) => (body.model === 'grader' ? MET : { text: 'Done.' }));
    const worker = await workers.start({ DRAIN_SECONDS: String(drainSeconds) });
    const check = { run: 'bash', code: `until [ -e ${name} ]; do sleep 0.1; done` };
    const loop = await loops.start({ prompt: 'Do it.', until: { ...RUBRIC, check } });
    const running = 'select 1 from running_sandbox where workspace_id = $1';
    while ((await ground.service.database.query(running, [loops.workspaceId])).length === 0) await sleep(50);
    return { loop, worker };
  }

  it(
    'waits for the check, and the iteration is graded once',
    async () => {
      const [worked, graded] = [asked('worker'), asked('grader')];
      const { loop, worker } = await checking('drained', 3600);
      const stopped = worker.stop();
      while (!worker.lines.some(({ msg }) => msg === 'stopping')) await sleep(20);
      await loops.write('drained', '');
      expect(await stopped).toBe(0);
      expect(worker.errors).toEqual([]);
      await workers.start();
      expect(await loops.ended(loop)).toMatchObject({ outcome: 'satisfied', iteration: 1 });
      expect([asked('worker') - worked, asked('grader') - graded]).toEqual([1, 1]);
    },
    PATIENCE,
  );

  it(
    'and has no time to wait leaves it to the next one, and no iteration is lost or done twice',
    async () => {
      const [worked, graded] = [asked('worker'), asked('grader')];
      const { loop, worker } = await checking('left', 0);
      expect(await worker.stop()).toBe(0);
      await loops.write('left', '');
      await workers.start();
      const ended = await loops.ended(loop);
      expect(ended).toMatchObject({ outcome: 'satisfied', iteration: 1 });
      expect(ended.iterations).toHaveLength(1);
      expect([asked('worker') - worked, asked('grader') - graded]).toEqual([1, 1]);
    },
    PATIENCE,
  );
});
