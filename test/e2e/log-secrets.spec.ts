import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Json } from '../harness/client.js';
import { TestService } from '../harness/service.js';

const out = new PassThrough();
const write = process.stdout.write.bind(process.stdout);
let service: TestService;

/** All that the service logs, at its most talkative. */
beforeAll(async () => {
  process.stdout.write = ((chunk: string) => out.write(chunk)) as typeof process.stdout.write;
  service = await TestService.start({ LOG_LEVEL: 'trace', LOG_FORMAT: 'text' });
});
afterAll(async () => {
  await service.stop();
  process.stdout.write = write;
});

it('never logs a secret, whatever goes right or wrong', async () => {
  const ada = await service.person();
  const key = (await ada.client.post('/api/keys', { name: 'CI' })).body.api_key as string;
  const secrets = [ada.password, ada.refreshToken, key, String(ada.client.headers.authorization).slice(7)];
  const send = (path: string, body: Json) => service.stranger.post(path, body);
  await send('/api/auth/login', { email: ada.email, password: ada.password });
  await send('/api/auth/login', { email: ada.email, password: 'wrong-but-close' });
  await service.stranger.with({ 'x-api-key': key }).get('/api/workspaces');
  await ada.client.with({ 'idempotency-key': 'my-idempotency-key' }).post('/api/keys', { name: 'Once' });
  // Faults of ours, with the secrets in the statement that fails.
  await service.database.query('alter table api_key add check (name <> $$broken$$)');
  expect((await ada.client.post('/api/keys', { name: 'broken' })).status).toBe(500);
  await service.database.query('alter table session rename to session_away');
  expect((await send('/api/auth/refresh', { refresh_token: ada.refreshToken })).status).toBe(500);
  await service.database.query('alter table session_away rename to session');
  const hashes = await service.database.query<{ hash: string }>('select hash from api_key');
  const log = String(out.read());
  expect(log).toContain('request failed');
  expect(log).toContain('POST');
  for (const secret of [...secrets, 'wrong-but-close', 'my-idempotency-key', ...hashes.map(row => row.hash)])
    expect(log).not.toContain(secret);
});
