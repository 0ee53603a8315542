import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { HistoryTrim } from '../../../src/workspaces/history/index.js';
import { DockerEngine, describeWithDocker } from '../../fakes/docker-engine.js';
import { AgentClient } from '../../harness/agent.js';
import { type Person, TestService } from '../../harness/service.js';

let engine: DockerEngine;
let service: TestService;
let ada: Person;
let workspace: string;

beforeAll(async () => {
  engine = await DockerEngine.start();
  service = await TestService.start({
    SANDBOX_DRIVER: 'docker',
    SANDBOX_DOCKER_IMAGE: engine.image,
    SANDBOX_DOCKER_SOCKET: engine.socketPath,
  });
  ada = await service.person();
  workspace = await service.workspace(ada);
});
afterAll(async () => {
  await service.stop();
  await engine.stop();
});

const bash = (command: string) =>
  ada.client.post(`/api/workspaces/${workspace}/tools/bash`, { input: { command } });
const search = async (query: string) =>
  (await ada.client.get(`/api/workspaces/${workspace}/search?${query}`)).body.items;

describeWithDocker('a service whose sandboxes are containers', () => {
  it('runs commands on the same files, for the same owner', async () => {
    await ada.client.put(`/api/workspaces/${workspace}/files/content`, {
      path: 'a.txt',
      content: 'needle one\n',
    });
    const { status, body } = await bash('cat a.txt; echo "needle two" >b.txt; mkdir folder; pwd');
    expect([status, body]).toMatchObject([200, { is_error: false }]);
    expect(body.output).toContain('needle one\n/workspace');
    const place = (name: string) => path.join(service.dataDir, 'workspaces', workspace, name);
    expect(readFileSync(place('b.txt'), 'utf8')).toBe('needle two\n');
    expect(statSync(place('b.txt')).uid).toBe(statSync(place('a.txt')).uid);
    const written = await ada.client.put(`/api/workspaces/${workspace}/files/content`, {
      path: 'folder/c.txt',
      content: 'into a folder of the command\n',
    });
    expect(written.status).toBe(200);
  });

  it('searches names and contents by way of containers', async () => {
    expect((await search('q=needle')).map((found: { path: string }) => found.path)).toEqual([
      'a.txt',
      'b.txt',
    ]);
    expect((await search('q=c.txt&in=names')).map((found: { path: string }) => found.path)).toEqual([
      'folder/c.txt',
    ]);
  });

  it('lets a run call actions through its socket', async () => {
    const agent = new AgentClient(ada.client);
    const command = `run actions run file_write '{"path":"inside.txt","content":"from inside"}'`;
    const { result } = await agent.run(command, { workspace_id: workspace });
    expect(JSON.parse(result.toolOutputs[0].output)).toMatchObject({ path: 'inside.txt', created: true });
  });

  it('keeps the history of files, with git in a container', async () => {
    const files = `/api/workspaces/${workspace}/files`;
    const versions = async () => (await ada.client.get(`${files}/history?path=plan.md`)).body.items;
    const write = (content: string) => ada.client.put(`${files}/content`, { path: 'plan.md', content });
    await write('one\n');
    expect(await versions()).toMatchObject([{ kind: 'created', kept: true }]);
    await write('two\n');
    const [second, first] = await versions();
    const diff = await ada.client.get(`${files}/history/${second.id}/diff`);
    expect(diff.body.diff).toContain('-one\n+two\n');
    const restored = await ada.client.post(`${files}/restore`, { path: 'plan.md', version: first.id });
    expect(restored.status).toBe(200);
    const { body } = await bash('cat plan.md; echo three >plan.md');
    expect(body.output).toBe('one');
    expect(await versions()).toMatchObject([
      { kind: 'modified', writer: { type: 'sandbox' } },
      { kind: 'modified' },
      { id: second.id },
      { id: first.id },
    ]);
    await service.app.get(HistoryTrim, { strict: false }).due();
    expect(await versions()).toHaveLength(4);
  });

  it('says in a sentence that the engine is gone, and searches without it', async () => {
    await engine.api.call('DELETE', `/images/${engine.image}`, { query: { force: true } });
    const { status, body } = await bash('true');
    expect([status, body]).toEqual([
      503,
      {
        detail: `Code cannot run here: The image ${engine.image} is not there: build it or run "docker pull ${engine.image}"`,
      },
    ]);
    expect(await search('q=needle')).toHaveLength(2);
  });
});
