import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Actor } from '../../../platform/access/index.js';
import {
  ActionAllowlist,
  ActionCaller,
  type ActionCatalog,
  type ActionDeclaration,
  type ActionListing,
  type ActionRunner,
  CatalogAction,
} from '../../../platform/actions/index.js';
import { Conflict, NotFound } from '../../../platform/errors/index.js';
import type { Log } from '../../../platform/log/index.js';
import { ActionSocket } from './action-sockets.js';

import 'reflect-metadata';

class Nothing {}
const declaration: ActionDeclaration = {
  name: 'thing_do',
  summary: 'Do something',
  effect: 'read',
  permission: 'file.read',
  input: null,
  output: Nothing,
};
const action = new CatalogAction(declaration, {}, () => undefined);
const actor = { credential: { workspace_ids: null } } as unknown as Actor;
const caller = ActionCaller.program({ kind: 'run', id: 'r' }, 'sandbox', {
  actor,
  workspaceId: 'w',
  allowlist: new ActionAllowlist(['*']),
});

let folder: string;
let socket: ActionSocket;
let release: () => void;
let logged: unknown[];
let noted: { name: string; error: Error }[];

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'atelier-socket-'));
  logged = [];
  noted = [];
  const held = new Promise<void>(resolve => {
    release = resolve;
  });
  const run = async (_: unknown, { name, input }: { name: string; input: unknown }) => {
    if (name === 'held') await held;
    if (name === 'refused') throw new Conflict('Not now');
    if (name === 'broken') throw new Error('a secret');
    return { run_id: 'x', status: 'completed', output: input };
  };
  const refuse = async (_: unknown, { name }: { name: string }, error: Error) => {
    noted.push({ name, error });
    return error;
  };
  const require = (name: string) => {
    if (name.startsWith('no_')) throw new NotFound('There is no such action');
    return action;
  };
  socket = new ActionSocket(caller, {
    catalog: { require } as unknown as ActionCatalog,
    listing: { of: async () => [action] } as unknown as ActionListing,
    runner: { run, refuse } as unknown as ActionRunner,
    log: { error: (fields: unknown) => logged.push(fields) } as unknown as Log,
    maxBytes: 1000,
  });
  await socket.listen(path.join(folder, 's'));
});
afterEach(async () => {
  release();
  await socket.close();
  rmSync(folder, { recursive: true });
});

function ask(method: string, address: string, body?: string): Promise<{ status?: number; body: unknown }> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath: path.join(folder, 's'), method, path: address }, answer => {
      let text = '';
      answer.on('data', chunk => {
        text += chunk;
      });
      answer.on('end', () => resolve({ status: answer.statusCode, body: JSON.parse(text) }));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}
const run = (name: string, body?: string) => ask('POST', `/api/actions-exec/${name}`, body);

it('lists, describes and runs', async () => {
  expect(await ask('GET', '/api/actions-exec?q=x')).toMatchObject({
    status: 200,
    body: { items: [{ name: 'thing_do' }], next_cursor: null },
  });
  expect(await ask('GET', '/api/actions-exec/thing_do')).toMatchObject({ body: { name: 'thing_do' } });
  expect(await run('thing_do', '{"input":{"a":1}}')).toMatchObject({
    status: 200,
    body: { output: { a: 1 } },
  });
  expect(await run('thing_do')).toMatchObject({ status: 200, body: { status: 'completed' } });
});

it.each([
  ['GET', '/api/workspaces', undefined, 404],
  ['DELETE', '/api/actions-exec/thing_do', undefined, 404],
  ['GET', '/api/actions-exec/../../x', undefined, 404],
  ['POST', '/api/actions-exec/thing_do', '{', 400],
  ['POST', '/api/actions-exec/thing_do', '[]', 422],
  ['POST', '/api/actions-exec/thing_do', '{"workspace_id":"x"}', 422],
  ['POST', '/api/actions-exec/thing_do', `"${'x'.repeat(2000)}"`, 413],
  ['POST', '/api/actions-exec/refused', '{}', 409],
  ['POST', '/api/actions-exec/no_such', '{}', 404],
  ['GET', '//', undefined, 404],
])('answers %s %s with %s by %d', async (method, address, body, status) => {
  expect(await ask(method, address, body)).toEqual({ status, body: { detail: expect.any(String) } });
});

it.each([
  ['thing_do', '{', 'The body is not JSON'],
  ['thing_do', '[]', 'The body must be a JSON object'],
  ['thing_do', '{"dry_run":"yes"}', 'dry_run must be true or false'],
  ['no_such', '{}', 'There is no such action'],
  ['no_%ff', '{}', 'There is no such action'],
])('writes down a call of %s with %s, which makes no sense', async (name, body, detail) => {
  await run(name, body);
  expect(noted).toMatchObject([{ name, error: { detail } }]);
});

it('no longer hears a script that goes on making no sense, and hears what does make sense', async () => {
  for (let n = 0; n < 100; n++) expect((await run(`no_${n}`, '{}')).status).toBe(404);
  expect((await run('no_more', '{}')).status).toBe(429);
  expect((await run('thing_do', '{')).status).toBe(429);
  expect(noted).toHaveLength(100);
  expect((await run('thing_do', '{}')).status).toBe(200);
});

it('gives nothing away of a fault of ours', async () => {
  expect(await run('broken')).toEqual({ status: 500, body: { detail: 'Internal server error' } });
  expect(logged).toHaveLength(1);
});

it('runs a few at once, and refuses more', async () => {
  const answers = Array.from({ length: 12 }, () => run('held'));
  const refused = await new Promise<(number | undefined)[]>(resolve => {
    const early: (number | undefined)[] = [];
    for (const answer of answers)
      void answer.then(({ status }) => {
        if (early.push(status) === 4) resolve([...early]);
      });
  });
  expect(refused).toEqual([429, 429, 429, 429]);
  release();
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(statuses.filter(status => status === 200)).toHaveLength(8);
});
