import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ServiceProcess } from '../faults/service-process.js';
import type { Json } from '../harness/client.js';
import { serveRepositories } from '../harness/git-server.js';
import { type Person, TestService } from '../harness/service.js';
import { TlsServers } from '../harness/tls-servers.js';

/** The job of a killed worker is taken over when its lock has run out. */
const LONG = 180_000;

let servers: TlsServers;
let service: TestService;
let ada: Person;
let workspace_id: string;
let repositories: string;
let forge: string;
let authority: string;
/** Objects are not sent before this is called, and then to the end. */
let asked: () => void = () => undefined;
let held: Promise<void> | undefined;

/** This process serves HTTP alone: who clones are workers of their own. */
beforeAll(async () => {
  repositories = mkdtempSync(path.join(tmpdir(), 'repositories-'));
  const make = [
    'git init -q -b main work && cd work && for i in $(seq 300); do echo $i > f$i; done && git add .',
    'git -c user.name=A -c user.email=a@example.com commit -qm first && cd .. && git clone -q --bare work one.git',
  ];
  execFileSync('sh', ['-c', make.join(' && ')], { cwd: repositories, stdio: 'pipe' });
  servers = new TlsServers();
  authority = servers.writeCertificate(repositories);
  const git = serveRepositories(repositories);
  forge = await servers.start('127.0.0.3', (request: IncomingMessage, response: ServerResponse) => {
    if (!request.url?.endsWith('/git-upload-pack') || !held) return git(request, response);
    asked();
    void held.then(() => git(request, response));
  });
  service = await TestService.start({ ROLE: 'api', OUTGOING_PRIVATE_HOSTS: forge });
  ada = await service.person();
  workspace_id = await service.workspace(ada);
  const place = { organization_id: ada.organizationId };
  const definition = {
    ...{ id: 'forge', name: 'Forge', docs: 'https://forge.example.com/docs', auth: 'api_key' },
    api: { base_url: `https://${forge}`, hosts: [], header: 'X-Key', template: '{api_key}' },
    ...{ git: { hosts: [forge], username: 'git' } },
    fields: [{ name: 'api_key', label: 'Key', secret: true }],
  };
  await ada.client.post('/api/integrations/providers', { ...place, definition });
  const fields = { api_key: 'key-of-the-forge' };
  const { body } = await ada.client.post('/api/integrations', { ...place, provider: 'forge', fields });
  await ada.client.put(`/api/integrations/${body.connection.id}/workspaces`, { grants: [{ workspace_id }] });
});
afterAll(async () => {
  await service?.stop();
  servers?.stop();
  rmSync(repositories, { recursive: true, force: true });
});

const folder = () => path.join(service.dataDir, 'workspaces', workspace_id);
const worker = () =>
  ServiceProcess.start(service, {
    ...{ ROLE: 'worker', OUTGOING_PRIVATE_HOSTS: forge, NODE_EXTRA_CA_CERTS: authority },
  });

it(
  'leaves nothing half where its process is killed, and is done by another',
  async () => {
    const begun = new Promise<void>(resolve => {
      asked = resolve;
    });
    let release: () => void = () => undefined;
    held = new Promise(resolve => {
      release = resolve;
    });
    const { body } = await ada.client.post('/api/git-repos', {
      ...{ workspace_id, url: `https://${forge}/one.git`, path: 'deep/one' },
    });
    const first = await worker();
    await begun;
    expect(existsSync(path.join(folder(), 'deep'))).toBe(false);
    await first.kill();
    held = undefined;
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
    const left = (): Json[] => readdirSync(folder()).filter(name => name.startsWith('.atelier-tmp'));
    while (left().length > 0) await new Promise(resolve => setTimeout(resolve, 100));
    await second.stop();
  },
  LONG,
);
