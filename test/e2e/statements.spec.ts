import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import type { Client } from '../harness/client.js';
import { type Person, TestService } from '../harness/service.js';

/** What the service asks for who calls, and for where they stand in a workspace. */
const OF_ACCESS = /api_key k|session s join|m\.role as organization_role/;

let service: TestService;
let ada: Person;
let byKey: Client;
let root: string;
let asked: string[] = [];

beforeAll(async () => {
  const { query } = pg.Client.prototype;
  jest.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
    this: pg.Client,
    ...given: unknown[]
  ) {
    const [statement] = given as [string | { text?: string }];
    const text = typeof statement === 'string' ? statement : (statement.text ?? '');
    if (OF_ACCESS.test(text)) asked.push(text);
    return (query as (...all: unknown[]) => void).apply(this, given);
  } as typeof query);
  service = await TestService.start();
  ada = await service.person();
  byKey = await service.key(ada);
  root = `/api/workspaces/${await service.workspace(ada)}`;
  for (const client of [ada.client, byKey])
    await client.put(`${root}/files/content`, { path: 'note.txt', content: 'Hello' });
});
afterAll(async () => {
  await service.stop();
  jest.restoreAllMocks();
});

it.each(['', '/files', '/files/stat?path=note.txt', '/files/content?path=note.txt'])(
  'one statement finds the caller and the workspace of GET %s',
  async path => {
    for (const client of [ada.client, byKey]) {
      asked = [];
      expect((await client.get(`${root}${path}`)).status).toBe(200);
      expect(asked).toEqual([expect.stringMatching(/m\.role as organization_role/)]);
    }
  },
);

it('one statement finds the caller and the workspace of a file that is uploaded', async () => {
  for (const client of [ada.client, byKey]) {
    asked = [];
    const path = `${root}/files/upload?path=note.txt`;
    expect((await client.raw('PUT', path, { body: 'Bye' })).status).toBe(200);
    expect(asked).toHaveLength(1);
  }
});
