import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { AutomationEventsStore } from '../../../src/automation/automation/records/automation-events.store.js';
import { Automations } from '../../harness/automations.js';
import type { Client, StreamEvent } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;
let workspace: string;
let own: Automations;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person();
  workspace = await service.workspace(ada);
  own = new Automations(ada.client, workspace);
});
afterAll(() => service.stop());

/** What is told of the automations of the workspace, until there is one of this type. */
const watch = (type: string, after = 0, client: Client = ada.client): Promise<StreamEvent[]> =>
  client.events(`/api/automation/events?workspace_id=${workspace}&after=${after}`, {
    until: ({ event }: StreamEvent) => event === type,
  });

it('tells of deployments and runs, in the order in which they happen', async () => {
  const path = await own.script('told', 'true');
  const { id } = await own.deploy(path);
  const watched = watch('automation.deployment.stopped');
  const run = await own.run(path);
  await own.script('told', 'exit 1');
  await own.deploy(path);
  await own.run(path);
  for (const what of ['pause', 'resume'])
    await ada.client.post(`/api/automation/deployments/${id}/${what}`, {});
  await own.stop(path);
  const events = await watched;
  expect(events.map(({ event }) => event.replace('automation.', ''))).toEqual([
    'deployment.deployed',
    'run.queued',
    'run.started',
    'run.completed',
    'deployment.deployed',
    'run.queued',
    'run.started',
    'run.failed',
    'deployment.paused',
    'deployment.resumed',
    'deployment.stopped',
  ]);
  expect(events.map(event => event.id)).toEqual(Array.from({ length: 11 }, (_, n) => n + 1));
  expect(events[3]?.data).toMatchObject({
    run_id: run.run_id,
    deployment_id: id,
    file_path: path,
    status: 'completed',
    trigger_kind: 'manual',
    time: expect.any(String),
  });
  expect(events[10]?.data).toMatchObject({ deployment_id: id, state: 'stopped', version: 2 });
});

it('goes on after the last that was seen, and says what is not kept any more', async () => {
  expect((await watch('automation.deployment.stopped', 9)).map(({ id }) => id)).toEqual([10, 11]);
  await service.database.query(
    `update automation_event set created_at = now() - interval '8 days' where workspace_id = $1 and id <= 5`,
    [workspace],
  );
  await service.app.get(AutomationEventsStore, { strict: false }).prune();
  const events = await watch('automation.deployment.stopped', 2);
  expect(events[0]).toMatchObject({ id: 5, event: 'reset', data: { pruned_through: 5 } });
  expect(events.slice(1).map(({ id }) => id)).toEqual([6, 7, 8, 9, 10, 11]);
});

it('is for those who see the workspace', async () => {
  const stranger = await service.person('Sam');
  const { status } = await stranger.client.get(`/api/automation/events?workspace_id=${workspace}`);
  expect(status).toBe(404);
});
