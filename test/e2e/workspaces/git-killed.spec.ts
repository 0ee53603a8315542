import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ServiceProcess } from '../../faults/service-process.js';
import { Forge } from '../../harness/forge.js';
import { type Person, TestService } from '../../harness/service.js';

let forge: Forge;
let service: TestService;
let ada: Person;
let workspace_id: string;

/** This process serves HTTP alone: who clones are workers of their own. */
beforeAll(async () => {
  forge = await Forge.start();
  service = await TestService.start({ ROLE: 'api', OUTGOING_PRIVATE_HOSTS: forge.host });
  ada = await service.person();
  workspace_id = await service.workspace(ada);
  await forge.connect(ada, workspace_id);
});
afterAll(async () => {
  await service?.stop();
  forge?.stop();
});

const folder = () => path.join(service.dataDir, 'workspaces', workspace_id);
const worker = () =>
  ServiceProcess.start(service, {
    ROLE: 'worker',
    OUTGOING_PRIVATE_HOSTS: forge.host,
    NODE_EXTRA_CA_CERTS: forge.writeCertificate(),
  });

it('leaves nothing half where its process is killed, and is done by another', async () => {
  const url = forge.add('one.git', 300);
  let release: () => void = () => undefined;
  // Objects are not sent before the worker is killed.
  const begun = new Promise<void>(resolve => {
    forge.onRequest = request => {
      if (!request.url?.endsWith('/git-upload-pack')) return undefined;
      resolve();
      return new Promise(go => {
        release = go;
      });
    };
  });
  const { body } = await ada.client.post('/api/git-repos', {
    workspace_id,
    url,
    path: 'deep/one',
  });
  const first = await worker();
  await begun;
  expect(existsSync(path.join(folder(), 'deep'))).toBe(false);
  await first.kill();
  forge.onRequest = () => undefined;
  release();
  const second = await worker();
  const last = (await ada.client.events(`/api/operations/${body.operation_id}/events`)).at(-1);
  expect(last).toMatchObject({ event: 'operation.completed' });
  expect(readdirSync(path.join(folder(), 'deep', 'one')).filter(name => name.startsWith('f'))).toHaveLength(
    300,
  );
  const { body: repo } = await ada.client.get(`/api/git-repos/${body.id}`);
  expect(repo).toMatchObject({ state: 'ready', branch: 'main' });
  // What the first one left is removed with its temporary files.
  const left = (): string[] => readdirSync(folder()).filter(name => name.startsWith('.atelier-tmp'));
  while (left().length > 0) await new Promise(resolve => setTimeout(resolve, 100));
  await second.stop();
});
