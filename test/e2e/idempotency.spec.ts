import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { getQueueToken } from '@nestjs/bullmq';
import type { Queue } from 'bullmq';
import { apiDescription } from '../../src/api-description.js';
import { IdempotencyLedger } from '../../src/platform/http/idempotency-ledger.js';
import { MAINTENANCE_QUEUE } from '../../src/platform/maintenance/maintenance.js';
import { WorkspaceFolders } from '../../src/workspaces/index.js';
import type { Client, Json } from '../harness/client.js';
import { type Person, TestService } from '../harness/service.js';

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
  const leave = async (client: Client, lease: string) => {
    await create(client, 'Crash');
    await service.database.query(
      `update idempotent_request set answer = null, leased_until = now() + interval '${lease}'
       where holder = (select holder from idempotent_request order by leased_until desc limit 1)`,
    );
  };

  it('lets a repetition through once its lease is over', async () => {
    const client = keyed(ada.client, randomUUID());
    await leave(client, '-1 second');
    expect((await create(client, 'Crash')).status).toBe(200);
    expect(await countOf('Crash')).toBe(2);
  });

  it('holds it back until then', async () => {
    const client = keyed(ada.client, randomUUID());
    await leave(client, '20 seconds');
    expect((await create(client, 'Crash')).status).toBe(409);
  });

  it('refuses another request also then', async () => {
    const client = keyed(ada.client, randomUUID());
    await leave(client, '-1 second');
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
    const before = await rows();
    expect((await create(client, 'Nobody')).status).toBe(401);
    expect(await rows()).toHaveLength(before.length);
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
  const answered = whenAnswered();
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
  await answered;
  folders.create = original;
  const again = await create(keyed(ada.client, key), 'Gone');
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect(await countOf('Gone')).toBe(1);
});

describe('answers that are over', () => {
  it('are forgotten by a chore that the queue runs', async () => {
    await create(keyed(ada.client, randomUUID()), 'Old');
    await service.database.query("update idempotent_request set expires_at = now() - interval '1 second'");
    const queue = service.app.get<Queue>(getQueueToken(MAINTENANCE_QUEUE), { strict: false });
    expect((await queue.getJobSchedulers()).map(({ key, every }) => [key, Number(every)])).toContainEqual([
      'idempotency',
      300_000,
    ]);
    const ledger = service.app.get(IdempotencyLedger, { strict: false });
    const forget = ledger.deleteExpired.bind(ledger);
    const forgotten = new Promise<void>((resolve, reject) => {
      ledger.deleteExpired = () => {
        const done = forget();
        done.then(resolve, reject);
        return done;
      };
    });
    await queue.add('idempotency', {}, { removeOnComplete: true });
    await forgotten;
    expect(await rows()).toEqual([]);
  });
});

it('is described for every POST that takes a credential and JSON', async () => {
  const { paths } = await apiDescription();
  for (const [path, { post }] of Object.entries(paths) as [string, Json][]) {
    if (!post || post['x-public'] || JSON.stringify(post.requestBody ?? {}).includes('octet-stream'))
      continue;
    const header = post.parameters?.find(({ name }: Json) => name === 'Idempotency-Key');
    expect([path, header?.in]).toEqual([path, 'header']);
    expect(Object.keys(post.responses)).toEqual(expect.arrayContaining(['409', '422']));
  }
});

/** Resolves when the ledger has been given the next answer. */
function whenAnswered(): Promise<void> {
  const ledger = service.app.get(IdempotencyLedger, { strict: false });
  const answer = ledger.answer.bind(ledger);
  return new Promise(resolve => {
    ledger.answer = async (...given) => {
      ledger.answer = answer;
      await answer(...given);
      resolve();
    };
  });
}
