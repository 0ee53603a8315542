/**
 * Every action, tried out with `dry_run`: nothing is done, and what the action itself would refuse is refused, in the same
 * words.
 */
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ActionCatalog, subjectsOf } from '../../src/platform/actions/index.js';
import type { Json } from '../harness/client.js';
import { type Ids, idsOn, makeThings } from '../harness/routes.js';
import { sampleInput } from '../harness/sample-input.js';
import { type Person, TestService } from '../harness/service.js';

const INPUTS: Ids = {
  path: 'notes/plan.md',
  from: 'notes/plan.md',
  to: 'notes/copy.md',
  old_text: 'teh',
  new_text: 'the',
  name: 'Another',
  title: 'Another',
  email: 'somebody@example.com',
  message: 'list',
};
/** Those that cannot be tried out to their end on these things: every other action, and each new one, has to reach it. */
const REFUSED: Record<string, number> = {
  file_extract: 422,
  file_invitation_accept: 404,
  folder_create: 409,
  invited_file_list: 404,
  model_settings_update: 422,
  organization_leave: 409,
  queue_steer: 409,
  queue_update: 409,
  queue_withdraw: 409,
  run_stop: 422,
  sandbox_stop: 404,
};
/** They take away what the others are about. */
const LAST = ['workspace_delete', 'organization_leave', 'organization_delete'];
const EFFECTS = ['read', 'write', 'expose', 'destructive'];

let service: TestService;
let owner: Person;
let things: Ids;
let actions: Json[];

beforeAll(async () => {
  service = await TestService.start();
  owner = await service.person('Owner');
  things = { ...(await makeThings(service, owner, await service.person('Other'))), ...INPUTS };
  const catalog = service.app.get(ActionCatalog, { strict: false }).list();
  const rank = ({ name, effect }: Json) => EFFECTS.indexOf(effect) + 10 * (LAST.indexOf(name) + 1);
  actions = catalog
    .map(action => ({ ...action.describe(), on: Object.fromEntries(subjectsOf(action.declaration)) }))
    .sort((a, b) => rank(a) - rank(b));
});
afterAll(() => service.stop());

const inputOf = (action: Json, ids: Ids = things) => sampleInput(action, idsOn(action.on, ids));

async function answerTo(action: Json, input: Json, dry_run: boolean): Promise<[number, string | undefined]> {
  const { status, body } = await owner.client.post(`/api/actions/${action.name}/run`, { input, dry_run });
  return [status, body.detail];
}

/** The inputs of an action, each with one id of something that is not there. */
function inputsWithUnknownIds(action: Json): Json[] {
  const input = inputOf(action);
  const fields = Object.entries<Json>(action.input_schema.properties).filter(
    ([, { format }]) => format === 'uuid',
  );
  return fields.map(([field]) => ({ ...input, [field]: randomUUID() }));
}

/** What there is but the record of what was asked: all rows, and all files. */
async function world(): Promise<Json> {
  const tables = await service.database.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  );
  const ofItsOwn = ['action_run', 'chore', 'process', 'rate_count'];
  const rows: Json = {};
  for (const { name } of tables.filter(each => !ofItsOwn.includes(each.name))) {
    const found = await service.database.query<{ row: string }>(
      `select t::text as row from "${name}" t order by 1`,
    );
    rows[name] = found.map(({ row }) => row);
  }
  return { rows, files: filesBelow(path.join(service.dataDir, 'workspaces')) };
}

function filesBelow(root: string): Record<string, string> {
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).sort();
  const contentOf = (name: string) =>
    statSync(path.join(root, name)).isFile() ? readFileSync(path.join(root, name), 'utf8') : 'folder';
  return Object.fromEntries(names.map(name => [name, contentOf(name)]));
}

it('does nothing, for what can be done and for what cannot', async () => {
  const before = await world();
  const statuses: number[] = [];
  const refused: Record<string, number> = {};
  for (const action of actions)
    for (const [at, input] of [inputOf(action), ...inputsWithUnknownIds(action)].entries()) {
      const [status] = await answerTo(action, input, true);
      statuses.push(status);
      if (at === 0 && status !== 200) refused[action.name] = status;
    }
  expect(await world()).toEqual(before);
  expect(refused).toEqual(REFUSED);
  expect(statuses.filter(status => status === 200).length).toBeGreaterThan(80);
  expect(statuses.filter(status => status === 404).length).toBeGreaterThan(80);
  expect(statuses.filter(status => status >= 500)).toEqual([]);
});

it('refuses a run over the budget as the action does', async () => {
  const person = await service.person('Spender');
  const workspace_id = await service.workspace(person);
  const budget = { organization_id: person.organizationId, monthly_usd: 0 };
  const set = await person.client.post('/api/actions/organization_budget_set/run', { input: budget });
  expect(set.status).toBe(200);
  const input = { workspace_id, message: 'list' };
  const send = (dry_run: boolean) => person.client.post('/api/actions/agent_send/run', { input, dry_run });
  const [dry, real] = [await send(true), await send(false)];
  expect([dry.status, dry.body.detail]).toEqual([402, real.body.detail]);
  expect(real.status).toBe(402);
});

it('refuses what is not there as the action does', async () => {
  for (const action of actions)
    for (const input of inputsWithUnknownIds(action)) {
      const dry = await answerTo(action, input, true);
      const real = await answerTo(action, input, false);
      expect([action.name, input, ...dry]).toEqual([action.name, input, ...real]);
    }
});

it('refuses what cannot be done now as the action does', async () => {
  for (const action of actions) {
    const input = inputOf(action);
    for (const _ of ['once', 'again']) {
      const dry = await answerTo(action, input, true);
      const real = await answerTo(action, input, false);
      expect([action.name, ...dry]).toEqual([action.name, ...real]);
    }
  }
});
