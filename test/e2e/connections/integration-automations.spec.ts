import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { FakeOAuthProvider } from '../../fakes/oauth-provider.js';
import { Automations } from '../../harness/automations.js';
import type { Json } from '../../harness/client.js';
import { authorize, connect, describeProvider, startConnected } from '../../harness/connections.js';
import type { Person, TestService } from '../../harness/service.js';

const SCHEDULE = 'on:\n  - schedule: { cron: "0 0 1 1 *", timezone: UTC }\n';

let service: TestService;
let provider: FakeOAuthProvider;
let ada: Person;
let workspace_id: string;
let automations: Automations;

beforeAll(async () => {
  ({ service, provider } = await startConnected());
  ada = await service.person('Ada');
  workspace_id = await service.workspace(ada);
  automations = new Automations(ada.client, workspace_id);
  await describeProvider(ada, provider);
  await describeProvider(ada, provider, 'beta');
});
afterEach(() => service.database.query('delete from integration_connection'));
afterAll(async () => {
  await service.stop();
  await provider.stop();
});

async function granted(name: string, fields: Json = {}): Promise<string> {
  const { id } = await connect(ada, { owner: 'organization', name, ...fields });
  await ada.client.put(`/api/integrations/${id}/workspaces`, { grants: [{ workspace_id }] });
  return id;
}

/** The provider ends the access, which a request finds out. */
async function breakOff(id: string): Promise<void> {
  for (const each of provider.grants) each.isRevoked = true;
  await service.database.query(
    `update token_set set access_expires_at = now() - interval '1 second', fresh_until = now() - interval '1 second'
     where id = (select token_set_id from integration_connection where id = $1)`,
    [id],
  );
  expect((await ada.client.post(`/api/integrations/${id}/test`)).status).toBe(409);
}

async function mend(id: string): Promise<void> {
  const { body } = await ada.client.post(`/api/integrations/${id}/authorize`, {});
  expect((await authorize(body.authorize_url, ada)).text).toContain('is connected');
}

const stateOf = async ({ id }: Json): Promise<[string, string | null]> => {
  const { state, paused_reason } = await automations.deployment(id);
  return [state, paused_reason];
};
const PAUSED = ['paused', expect.stringMatching(/^connection_unusable: /)];

it('an automation uses the connections that its file lists, and no others', async () => {
  const id = await granted('Issues');
  await granted('Elsewhere', { provider: 'beta' });
  const code = `actions run integration_request '${JSON.stringify({ id, method: 'GET', path: '/items' })}' > out.json 2>&1; cat out.json`;
  const runs: Json = {};
  for (const [name, list] of Object.entries({
    provider: '[acme]',
    name: '[Issues]',
    other: '[beta]',
    none: '[]',
  })) {
    const matter = `connections: ${list}\nactions: [integration_request]`;
    await automations.run(await automations.script(name, code, matter), { draft: true });
    runs[name] = await automations.fileText('out.json');
  }
  expect(runs.provider).toContain('"items"');
  expect(runs.name).toContain('"items"');
  expect(runs.other).toContain('does not list Issues or acme');
  expect(runs.none).toContain('does not list Issues or acme');
});

it('a script sends numbers with all their digits, and gets such', async () => {
  const id = await granted('Numbers');
  const body = '{"id":8202522731445525542,"big":1e400}';
  const request = `{"id":"${id}","method":"POST","path":"/mirror","body":${body}}`;
  const code = `actions run integration_request '${request}' > out.json 2>&1`;
  const matter = 'connections: [Numbers]\nactions: [integration_request]';
  await automations.run(await automations.script('numbers', code, matter), { draft: true });
  expect(await automations.fileText('out.json')).toContain(`"body":${body}`);
});

it('those that list a connection that cannot be used are paused at once, and resume by themselves', async () => {
  const id = await granted('Issues');
  await granted('Elsewhere', { provider: 'beta' });
  const deployed = async (name: string, list: string) =>
    automations.deploy(await automations.script(name, 'true', `${SCHEDULE}connections: ${list}\n`));
  const [one, two, other] = [
    await deployed('one', '[acme]'),
    await deployed('two', '[Issues]'),
    await deployed('other', '[beta]'),
  ];
  await breakOff(id);
  expect(await stateOf(one)).toEqual(PAUSED);
  expect(await stateOf(two)).toEqual(PAUSED);
  expect(await stateOf(other)).toEqual(['live', null]);
  // What a person paused stays so.
  await ada.client.post(`/api/automation/deployments/${two.id}/pause`, { reason: 'Mine' });
  await mend(id);
  expect(await stateOf(one)).toEqual(['live', null]);
  expect(await stateOf(two)).toEqual(['paused', 'Mine']);
  expect((await automations.deployment(one.id)).triggers[0].next_fires).toHaveLength(5);
  // Another connection to the same service does as well.
  const second = await granted('More issues');
  await breakOff(id);
  expect(await stateOf(one)).toEqual(['live', null]);
  await ada.client.delete(`/api/integrations/${second}`);
  expect(await stateOf(one)).toEqual(PAUSED);
});

it('names connections that the one it acts for may use, and learns of no others', async () => {
  const bob = await service.person('Bob');
  await service.join(bob, {
    organization: ada.organizationId,
    role: 'guest',
    workspace: workspace_id,
    workspaceRole: 'editor',
  });
  const { id } = await connect(ada, { name: 'Mine' });
  await ada.client.put(`/api/integrations/${id}/workspaces`, { grants: [{ workspace_id }] });
  const path = await automations.script('personal', 'true', 'connections: [Mien]');
  const named = await automations.ask('validate', { file_path: path });
  expect(named.body.findings).toMatchObject([
    { severity: 'error', suggestion: expect.stringContaining('Did you mean "Mine"?') },
  ]);
  const theirs = await new Automations(bob.client, workspace_id).ask('validate', { file_path: path });
  expect([theirs.body.valid, JSON.stringify(theirs.body).includes('Mine')]).toEqual([false, false]);
});
