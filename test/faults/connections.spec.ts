import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { FakeOAuthProvider } from '../fakes/oauth-provider.js';
import { Client, type Json } from '../harness/client.js';
import { connect, describeProvider, startConnected } from '../harness/connections.js';
import { freePort } from '../harness/free-port.js';
import type { Person, TestService } from '../harness/service.js';
import { Barrier } from './barrier.js';
import { ServiceProcess } from './service-process.js';

const PATIENCE = 300_000;

let service: TestService;
let provider: FakeOAuthProvider;
let ada: Person;
let workspace_id: string;
const processes: ServiceProcess[] = [];

beforeAll(async () => {
  ({ service, provider } = await startConnected({ ROLE: 'api' }));
  ada = await service.person('Ada');
  workspace_id = await service.workspace(ada);
  await describeProvider(ada, provider);
}, PATIENCE);
afterEach(async () => {
  await Promise.all(processes.splice(0).map(each => each.stop()));
  Object.assign(provider, { rotates: true, fault: undefined, delayMs: 0 });
  provider.tokenRequests.length = 0;
});
afterAll(async () => {
  await service.stop();
  await provider.stop();
});

/** Another process of the service, and a client of it that acts as Ada. */
async function another(): Promise<{ process: ServiceProcess; client: Client }> {
  const port = String(await freePort());
  const environment = { ROLE: 'api', PORT: port, OUTGOING_PRIVATE_HOSTS: provider.host };
  const started = await ServiceProcess.start(service, environment);
  processes.push(started);
  return { process: started, client: new Client(`http://127.0.0.1:${port}`, ada.client.headers) };
}

/** A connection whose access token has ended. */
async function ended(): Promise<string> {
  const { id } = await connect(ada);
  await ada.client.put(`/api/integrations/${id}/workspaces`, { grants: [{ workspace_id }] });
  await service.database.query(
    `update token_set set fresh_until = now() - interval '1 second', access_expires_at = now() - interval '1 second'
     where id = (select token_set_id from integration_connection where id = $1)`,
    [id],
  );
  provider.tokenRequests.length = 0;
  return id;
}
const send = (id: string, client = ada.client) =>
  client.post(`/api/integrations/${id}/request`, { workspace_id, method: 'GET', path: '/items' });
const one = async (id: string): Promise<Json> => (await ada.client.get(`/api/integrations/${id}`)).body;

/** A process asks for new tokens, gets them, and is killed before it has written them down. */
async function killedWithTokens(): Promise<string> {
  const id = await ended();
  const { process, client } = await another();
  const barrier = await Barrier.raise(service, 'secret');
  const lost = send(id, client).catch(() => undefined);
  await provider.asked(1);
  await barrier.holds(1);
  await process.kill();
  await lost;
  await barrier.undo();
  await barrier.lift();
  return id;
}

it(
  'two processes ask for new tokens once, and both use them',
  async () => {
    const { client } = await another();
    const id = await ended();
    provider.delayMs = 200;
    const calls = Array.from({ length: 50 }, (_, at) => send(id, at % 2 === 0 ? ada.client : client));
    const answers = await Promise.all(calls);
    expect(new Set(answers.map(({ body }) => body.status))).toEqual(new Set([200]));
    expect(provider.tokenRequests).toHaveLength(1);
  },
  PATIENCE,
);

it(
  'a process that is killed before it wrote what a provider rotated leaves a connection to authorize again',
  async () => {
    const id = await killedWithTokens();
    const { status, body } = await send(id);
    expect([status, body.detail]).toEqual([409, expect.stringContaining('authorized again')]);
    expect(await one(id)).toMatchObject({ id, state: 'needs_reauth', grants: [{ workspace_id }] });
    expect(provider.tokenRequests).toHaveLength(2);
  },
  PATIENCE,
);

it(
  'where nothing is rotated another process goes on',
  async () => {
    provider.rotates = false;
    const id = await killedWithTokens();
    expect((await send(id)).body).toMatchObject({ status: 200 });
    expect(await one(id)).toMatchObject({ state: 'active' });
    expect(provider.tokenRequests).toHaveLength(2);
  },
  PATIENCE,
);

it(
  'a process that is killed while the provider does not answer keeps nobody waiting for long',
  async () => {
    const id = await ended();
    const { process, client } = await another();
    provider.fault = 'hang';
    const lost = send(id, client).catch(() => undefined);
    await provider.asked(1);
    const waiting = send(id);
    provider.fault = undefined;
    await process.kill();
    await lost;
    expect((await waiting).body).toMatchObject({ status: 200 });
    expect(provider.tokenRequests).toHaveLength(2);
  },
  PATIENCE,
);

it(
  'new tokens are not let go of while the database is away',
  async () => {
    const id = await ended();
    const barrier = await Barrier.raise(service, 'secret');
    const waiting = send(id);
    await provider.asked(1);
    await barrier.holds(1);
    // The connection over which they were being written.
    await barrier.undo();
    await barrier.lift();
    expect((await waiting).body).toMatchObject({ status: 200 });
    expect(provider.tokenRequests).toHaveLength(1);
    expect(await one(id)).toMatchObject({ state: 'active' });
  },
  PATIENCE,
);
