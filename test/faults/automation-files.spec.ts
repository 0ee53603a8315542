/** File triggers, with processes that are killed between any two of their steps. */
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { Automations } from '../harness/automations.js';
import type { Json } from '../harness/client.js';
import { type Person, TestService } from '../harness/service.js';
import { Barrier } from './barrier.js';
import { ServiceProcess } from './service-process.js';

const LONG = 240_000;

let service: TestService;
let ada: Person;
let workspace: string;
let own: Automations;
let workers: ServiceProcess[] = [];

/** This process serves HTTP alone: what reads changes are processes of their own. */
beforeAll(async () => {
  service = await TestService.start({ ROLE: 'api' });
  ada = await service.person();
});
afterEach(async () => {
  await Promise.all(workers.map(worker => worker.stop()));
  workers = [];
});
afterAll(() => service.stop());

const start = async (): Promise<ServiceProcess> => {
  const worker = await ServiceProcess.start(service, { ROLE: 'worker' });
  workers.push(worker);
  return worker;
};

const kill = async (worker: ServiceProcess): Promise<void> => {
  workers = workers.filter(one => one !== worker);
  await worker.kill();
};

/** Automations in a workspace of their own, each of which a change to `in/` starts. */
async function deployed(count: number): Promise<string[]> {
  workspace = await service.workspace(ada);
  own = new Automations(ada.client, workspace);
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const path = await own.script(`number${n}`, 'true', 'on:\n  - file: { glob: "in/*.txt", settle: 1s }');
    ids.push((await own.deploy(path)).id);
  }
  return ids;
}

const write = (from: number, count: number) =>
  Promise.all(Array.from({ length: count }, (_, n) => own.write(`in/${from + n}.txt`, 'x')));

/** The changes that each deployment was started for, once there are as many as there should be. */
async function delivered(ids: readonly string[], count: number): Promise<number[][]> {
  const found: number[][] = [];
  for (const id of ids)
    for (;;) {
      const deliveries = await own.deliveries(`&deployment_id=${id}`);
      const read = deliveries.map(one => ada.client.get(`/api/automation/deliveries/${one.id}`));
      const changes = (await Promise.all(read)).flatMap(({ body }) => body.payload.changes);
      if (changes.length < count) continue;
      found.push(changes.map((change: Json) => change.id).sort((a, b) => a - b));
      break;
    }
  return found;
}

/** The numbers of the changes that are for the automations. */
async function numbers(): Promise<number[]> {
  const rows = await service.database.query<{ id: string }>(
    `select id from workspace_change where workspace_id = $1 and path like 'in/%.txt' order by id`,
    [workspace],
  );
  return rows.map(({ id }) => Number(id));
}

it(
  'loses nothing and starts nothing twice where a process is killed while it reads, and while it fires',
  async () => {
    const ids = await deployed(3);
    const reading = await start();
    const cursor = await Barrier.raise(service, 'automation_change_cursor');
    await write(0, 10);
    await cursor.holds(1);
    await kill(reading);
    await cursor.lift();
    const delivery = await Barrier.raise(service, 'automation_delivery');
    const firing = await start();
    await delivery.holds(1);
    await kill(firing);
    await delivery.lift();
    const seen = await Barrier.raise(service, 'automation_run');
    const ending = await start();
    await seen.holds(1);
    await kill(ending);
    await seen.lift();
    await start();
    const found = await delivered(ids, 10);
    const expected = await numbers();
    expect(expected).toHaveLength(10);
    for (const changes of found) expect(changes).toEqual(expected);
    for (const id of ids) expect(await own.runs(`&deployment_id=${id}`)).toHaveLength(1);
  },
  LONG,
);

it(
  'tells of each change once, with two processes of which one is killed',
  async () => {
    const ids = await deployed(5);
    await Promise.all([start(), start()]);
    for (let round = 0; round < 4; round++) {
      await write(round * 15, 15);
      if (round === 1) await kill(workers[0] as ServiceProcess);
      if (round === 2) await start();
    }
    const found = await delivered(ids, 60);
    const expected = await numbers();
    expect(expected).toHaveLength(60);
    for (const changes of found) expect(changes).toEqual(expected);
  },
  LONG,
);

it(
  'catches up with what changed while no process ran',
  async () => {
    const ids = await deployed(2);
    await write(0, 20);
    await start();
    const found = await delivered(ids, 20);
    for (const changes of found) expect(changes).toEqual(await numbers());
    for (const id of ids) expect(await own.deliveries(`&deployment_id=${id}`)).toHaveLength(1);
  },
  LONG,
);
