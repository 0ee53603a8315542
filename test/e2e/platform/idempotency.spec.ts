import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Chores } from '../../../src/platform/jobs/index.js';
import { WorkspaceFolders } from '../../../src/workspaces/core/index.js';
import { apiDocument } from '../../harness/api-document.js';
import type { Client, Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person();
});
afterAll(() => service.stop());

const keyed = (client: Client, key: string) => client.with({ 'idempotency-key': key });
const create = (client: Client, name: string) => client.post('/api/workspaces', { name });
const countOf = async (name: string) =>
  (await service.database.query('select 1 from workspace where name = $1', [name])).length;
const rows = () =>
  service.database.query<{ answer: Buffer | null; holder: string }>('select * from idempotent_request');

describe('a request that is sent twice with one Idempotency-Key', () => {
  it('runs once, and is answered alike', async () => {
    const client = keyed(ada.client, randomUUID());
    const first = await create(client, 'Once');
    const again = await create(client, 'Once');
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(again.body).toEqual(first.body);
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    expect(await countOf('Once')).toBe(1);
  });

  it('runs once when both come at the same instant', async () => {
    const client = keyed(ada.client, randomUUID());
    const answers = await Promise.all(Array.from({ length: 8 }, () => create(client, 'Together')));
    expect(await countOf('Together')).toBe(1);
    const bodies = answers.filter(({ status }) => status === 200).map(({ body }) => body.id);
    expect(new Set(bodies).size).toBe(1);
    for (const { status, headers, body } of answers.filter(answer => answer.status !== 200)) {
      expect(status).toBe(409);
      expect(headers.get('retry-after')).toBe('1');
      expect(body.detail).toContain('still running');
    }
    expect((await create(client, 'Together')).body.id).toBe(bodies[0]);
  });

  it('gets the refusal again that it got first', async () => {
    const client = keyed(ada.client, randomUUID());
    const send = () => client.post('/api/keys', { name: '' });
    const first = await send();
    const again = await send();
    expect([first.status, again.status]).toEqual([422, 422]);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  it('is refused with another body, or at another address', async () => {
    const client = keyed(ada.client, randomUUID());
    await create(client, 'Mine');
    const other = await create(client, 'Other');
    expect(other.status).toBe(422);
    expect(other.body.detail).toContain('another request');
    expect((await client.post('/api/organizations', { name: 'Mine' })).status).toBe(422);
    expect(await countOf('Other')).toBe(0);
  });

  it('runs for each credential by itself', async () => {
    const key = randomUUID();
    const [first, second] = [await service.key(ada), await service.key(ada)];
    const one = await create(keyed(first, key), 'Each');
    const two = await create(keyed(second, key), 'Each');
    expect(one.body.id).not.toBe(two.body.id);
  });

  it('runs again after 24 hours', async () => {
    const client = keyed(ada.client, randomUUID());
    await create(client, 'Yesterday');
    await service.database.query("update idempotent_request set expires_at = now() - interval '1 second'");
    expect((await create(client, 'Yesterday')).headers.get('idempotent-replayed')).toBeNull();
    expect(await countOf('Yesterday')).toBe(2);
  });
});

describe('a request whose process died', () => {
  /** Leaves the row of a request that has no answer as `change` says. */
  const leave = async (client: Client, change: string) => {
    await create(client, change);
    await service.database.query(
      `update idempotent_request set answer = null, ${change}
       where holder = (select holder from idempotent_request order by expires_at desc limit 1)`,
    );
  };
  const gone = 'process_id = gen_random_uuid()';

  it('lets a repetition through once its process is gone', async () => {
    const client = keyed(ada.client, randomUUID());
    await leave(client, gone);
    expect((await create(client, gone)).status).toBe(200);
    expect(await countOf(gone)).toBe(2);
  });

  it('holds it back until then', async () => {
    const client = keyed(ada.client, randomUUID());
    await leave(client, 'process_id = process_id');
    expect((await create(client, 'process_id = process_id')).status).toBe(409);
  });

  it('refuses another request also then', async () => {
    const client = keyed(ada.client, randomUUID());
    await leave(client, gone);
    expect((await create(client, 'Other crash')).status).toBe(422);
  });
});

describe('what is not kept', () => {
  it('is an answer to a fault of ours', async () => {
    const client = keyed(ada.client, randomUUID());
    await service.database.query('alter table workspace rename to workspace_away');
    const failed = await create(client, 'Fault');
    await service.database.query('alter table workspace_away rename to workspace');
    expect(failed.status).toBe(500);
    expect((await create(client, 'Fault')).status).toBe(200);
  });

  it('is a request without a credential', async () => {
    const client = keyed(service.stranger, randomUUID());
    const login = () => client.post('/api/auth/login', { email: ada.email, password: ada.password });
    const tokens = [await login(), await login()].map(({ body }) => body.refresh_token);
    expect(tokens[0]).not.toBe(tokens[1]);
  });

  it('is a request without a valid credential', async () => {
    const client = keyed(service.stranger.with({ 'x-api-key': 'atl_wrong' }), randomUUID());
    const before = (await rows()).map(({ holder }) => holder);
    expect((await create(client, 'Nobody')).status).toBe(401);
    // Rows that are over may be removed meanwhile.
    for (const { holder } of await rows()) expect(before).toContain(holder);
  });
});

describe('an Idempotency-Key', () => {
  it.each(['', 'x'.repeat(256), 'caf\u00e9', 'tab\there'])('cannot be %j', async key => {
    const { status, body } = await create(keyed(ada.client, key), 'Bad key');
    expect(status).toBe(400);
    expect(body.detail).toContain('Idempotency-Key');
  });

  it.each(['x', 'x'.repeat(255), '"quoted"'])('can be %j', async key => {
    expect((await create(keyed(ada.client, key), 'Good key')).status).toBe(200);
  });
});

it('never leaves the secret of an answer in the database', async () => {
  const key = randomUUID();
  const client = keyed(ada.client, key);
  const first = await client.post('/api/keys', { name: 'Secret' });
  const again = await client.post('/api/keys', { name: 'Secret' });
  expect(again.body.api_key).toBe(first.body.api_key);
  const stored = JSON.stringify(await rows(), (_, value) =>
    value?.type === 'Buffer' ? Buffer.from(value.data).toString('latin1') : value,
  );
  expect(stored).not.toContain(first.body.api_key);
  expect(stored).not.toContain('api_key');
  expect(stored).not.toContain(key);
});

it('keeps the answer to a caller who went away before it came', async () => {
  const key = randomUUID();
  const folders = service.app.get(WorkspaceFolders, { strict: false });
  const original = folders.create.bind(folders);
  const reached = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  folders.create = async workspace => {
    reached.resolve();
    await gate.promise;
    await original(workspace);
  };
  const call = request(`${service.url}/api/workspaces`, {
    method: 'POST',
    headers: { ...ada.client.headers, 'idempotency-key': key, 'content-type': 'application/json' },
  });
  const closed = new Promise(resolve => call.once('close', resolve).once('error', () => undefined));
  call.end(JSON.stringify({ name: 'Gone' }));
  await reached.promise;
  call.destroy();
  await closed;
  gate.resolve();
  folders.create = original;
  // Its answer is committed with it.
  while ((await countOf('Gone')) === 0) await sleep(50);
  const again = await create(keyed(ada.client, key), 'Gone');
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect(await countOf('Gone')).toBe(1);
});

describe('what is kept for one credential', () => {
  const fill = (credential: string, requests: number, bytes: number) =>
    service.database.query(
      `insert into idempotent_request (credential_id, lookup, fingerprint, holder, expires_at, answer)
       select $1::uuid, int4send(n), '', gen_random_uuid(), now() + interval '1 hour',
         decode(repeat('00', $3), 'hex')
       from generate_series(1, $2::int) n`,
      [credential, requests, bytes],
    );

  it.each([
    ['requests', 100_000, 0],
    ['bytes of answers', 130, 1024 * 1024],
  ])('is bounded in %s, and what is kept is answered still', async (_what, requests, bytes) => {
    const made = await ada.client.post('/api/keys', { name: 'Full' });
    const full = service.stranger.with({ 'x-api-key': made.body.api_key });
    await fill(made.body.id, requests - 1, bytes);
    const client = keyed(full, randomUUID());
    const first = await create(client, 'Full');
    expect(first.status).toBe(requests === 130 ? 429 : 200);
    const refused = await create(keyed(full, randomUUID()), 'Beyond');
    expect([refused.status, refused.body.detail]).toEqual([429, expect.stringContaining('without a key')]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3000);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(3600);
    if (first.status === 200) expect((await create(client, 'Full')).body).toEqual(first.body);
    expect((await create(full, 'Beyond')).status).toBe(200);
    expect((await create(keyed(ada.client, randomUUID()), 'Other')).status).toBe(200);
    await service.database.query('delete from idempotent_request where credential_id = $1', [made.body.id]);
  });
});

describe('answers that are over', () => {
  it('are forgotten by a chore', async () => {
    await create(keyed(ada.client, randomUUID()), 'Old');
    await service.database.query("update idempotent_request set expires_at = now() - interval '1 second'");
    await service.app.get(Chores, { strict: false }).run('idempotency');
    expect(await rows()).toEqual([]);
  });
});

it('is described for every POST that takes a credential and JSON', async () => {
  const { paths } = await apiDocument();
  for (const [path, { post }] of Object.entries(paths) as [string, Json][]) {
    if (!post || post['x-public'] || JSON.stringify(post.requestBody ?? {}).includes('octet-stream'))
      continue;
    const header = post.parameters?.find(({ name }: Json) => name === 'Idempotency-Key');
    expect([path, header?.in]).toEqual([path, 'header']);
    expect(Object.keys(post.responses)).toEqual(expect.arrayContaining(['409', '422']));
  }
});
