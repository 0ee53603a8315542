import { hostname } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Maintenance } from '../../src/platform/maintenance/maintenance.js';
import type { Json } from '../harness/client.js';
import { createParser } from '../harness/event-stream.js';
import { type Person, TestService } from '../harness/service.js';

let service: TestService;
let ada: Person;
let workspace: string;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person();
  workspace = await service.workspace(ada);
});
afterAll(() => service.stop());

const list = async () => (await ada.client.get(`/api/workspaces/${workspace}/sandboxes`)).body.items;

/** Starts a command; resolves when it has begun to write, with a promise of its result. */
async function begin(command: string): Promise<{ finished: Promise<Json> }> {
  const response = await ada.client.raw('POST', `/api/workspaces/${workspace}/tools/bash`, {
    body: JSON.stringify({ input: { command } }),
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
  });
  const parser = createParser();
  const reader = (response.body as unknown as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  const next = async (name: string): Promise<Json> => {
    for (;;) {
      const { value, done } = await reader.next();
      if (done) throw new Error(`The stream ended without ${name}`);
      const found = parser(value).find(({ event }) => event === name);
      if (found) return found.data;
    }
  };
  await next('tool.output');
  return { finished: next('tool.finished') };
}

describe('sandboxes', () => {
  it('are listed while they run, and can be ended', async () => {
    expect(await list()).toEqual([]);
    const { finished } = await begin('echo begun; sleep 600');
    const items = await list();
    expect(items).toEqual([
      {
        id: expect.any(String),
        command: 'echo begun; sleep 600',
        caller: { kind: 'tool', id: ada.id },
        node: hostname(),
        started_at: expect.any(String),
        kind: 'command',
        memory_bytes: expect.any(Number),
        cpu_ms: expect.any(Number),
        processes: expect.any(Number),
      },
    ]);
    const started = performance.now();
    const ended = await ada.client.delete(`/api/workspaces/${workspace}/sandboxes/${items[0].id}`);
    expect([ended.status, ended.body]).toEqual([200, { id: items[0].id, deleted: true }]);
    expect(await finished).toMatchObject({ is_error: true, output: expect.stringContaining('Killed') });
    expect(performance.now() - started).toBeLessThan(20_000);
  });

  it('are ended by those who may run code there, and nobody else', async () => {
    const viewer = await service.person('Viewer');
    const place = { organization: ada.organizationId, role: 'guest', workspace, workspaceRole: 'viewer' };
    await service.join(viewer, place);
    const { finished } = await begin('echo begun; sleep 600');
    const [{ id }] = await list();
    const address = `/api/workspaces/${workspace}/sandboxes/${id}`;
    expect((await viewer.client.delete(address)).status).toBe(403);
    const elsewhere = await service.workspace(ada);
    expect((await ada.client.delete(`/api/workspaces/${elsewhere}/sandboxes/${id}`)).status).toBe(404);
    expect((await ada.client.delete(address)).status).toBe(200);
    await finished;
  });

  it('of a process that died are not shown, and are forgotten', async () => {
    const add = (id: string, alive: string) =>
      service.database.query(
        `insert into running_sandbox (id, workspace_id, process_id, node, command, caller_kind, started_at, alive_until)
         values ($1, $2, $1, 'gone', 'sleep', 'service', now(), now() + $3::interval)`,
        [id, workspace, alive],
      );
    const [dead, alive] = ['00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002'];
    await add(dead, '-1 second');
    await add(alive, '1 minute');
    expect((await list()).map((item: Json) => item.id)).toEqual([alive]);
    await service.app.get(Maintenance, { strict: false }).run('forget_lost_sandboxes');
    const left = await service.database.query('select id from running_sandbox where node = $1', ['gone']);
    expect(left.map((row: Json) => row.id)).toEqual([alive]);
  });
});
