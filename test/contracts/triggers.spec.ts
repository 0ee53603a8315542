/** docs/triggers.md against the migrated database, and each trigger in action. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type Ids, makeThings } from '../harness/routes.js';
import { TestService } from '../harness/service.js';

interface Trigger {
  readonly name: string;
  readonly table: string;
  readonly function: string;
  readonly source: string;
}

/** A statement, and the topics that it publishes. */
type Act = [trigger: string, statement: string, topics: readonly string[]];

let service: TestService;
let client: pg.Client;
let things: Ids;
let triggers: Trigger[];
const heard: string[] = [];

beforeAll(async () => {
  service = await TestService.start();
  const owner = await service.person('Owner');
  things = await makeThings(service, owner, await service.person('Other'));
  // Nobody else acts on these rows any more.
  await service.app.close();
  client = new pg.Client({ connectionString: service.database.url });
  await client.connect();
  client.on('notification', ({ payload = '' }) => heard.push(payload));
  await client.query('listen atelier');
  triggers = (
    await client.query<Trigger>(`
      select t.tgname as name, c.relname as table, p.proname as function, p.prosrc as source
      from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_proc p on p.oid = t.tgfoid
      where not t.tgisinternal and c.relnamespace = 'public'::regnamespace order by t.tgname`)
  ).rows;
});
afterAll(async () => {
  await client.end();
  await service.database.drop();
});

/** The rows of the document. */
function listed(): { name: string; table: string; function: string; text: string }[] {
  const rows = readFileSync('docs/triggers.md', 'utf8').matchAll(
    /^\| `(\w+)` +\| `(\w+)` +\| `(\w+)` +\| `([\w/-]+)` +\| (.+?) +\|$/gm,
  );
  return [...rows].map(([, name = '', table = '', called = '', feature = '', text = '']) => ({
    name,
    table,
    function: called,
    text: `${feature}: ${text}`,
  }));
}

/** The tables that a function writes to. */
const writtenBy = (source: string): string[] =>
  [...source.matchAll(/\b(?:update|insert into|delete from|truncate)\s+"?(\w+)/gi)].map(
    ([, table = '']) => table,
  );

/** The topics that a transaction publishes: nothing else is published meanwhile. */
async function publishedBy(statement: string): Promise<string[]> {
  heard.length = 0;
  await client.query(`begin; ${statement}; commit`);
  // Notifications of a commit come before its answer.
  return [...new Set(heard)];
}

describe('the list of triggers', () => {
  it('is that of the database', () => {
    const there = triggers.map(({ name, table, function: called }) => `${name} on ${table}: ${called}`);
    expect(
      listed()
        .map(row => `${row.name} on ${row.table}: ${row.function}`)
        .sort(),
    ).toEqual(there);
  });

  it('has every function of a trigger, and there is none that no trigger calls', async () => {
    const { rows } = await client.query<{ name: string }>(`
      select proname as name from pg_proc
      where pronamespace = 'public'::regnamespace and prorettype = 'trigger'::regtype order by 1`);
    const called = [...new Set(triggers.map(each => each.function))].sort();
    expect(rows.map(({ name }) => name)).toEqual(called);
  });

  it('has none that writes rows of another feature', () => {
    expect(writtenBy('insert into a (x) select 1; update "b" set y = 2; delete from c')).toEqual([
      'a',
      'b',
      'c',
    ]);
    for (const { name, table, source } of triggers)
      for (const written of writtenBy(source)) expect([name, table]).toEqual([name, written]);
    const writing = triggers.filter(({ source }) => writtenBy(source).length > 0).map(({ name }) => name);
    expect(writing).toEqual(['task_goes_on', 'task_is_gone']);
  });
});

describe('a trigger', () => {
  const refusals: [trigger: string, statement: string][] = [
    ['action_run_append_only', `update action_run set actor_name = 'Nobody'`],
    ['action_run_no_truncate', 'truncate action_run'],
    ['audit_entry_append_only', 'delete from audit_entry'],
    ['audit_entry_no_truncate', 'truncate audit_entry'],
    ['usage_entry_append_only', 'update usage_entry set cost_usd = 0'],
    ['usage_entry_no_truncate', 'truncate usage_entry'],
  ];
  let acts: Act[];

  beforeAll(() => {
    const {
      organization_id,
      workspace_id,
      user_id,
      service_account_id,
      api_key_id,
      key_id,
      session_id,
      grant_id,
    } = things;
    const { run_id = '', automation_run_id = '' } = things;
    const task = randomUUID();
    const ofTask = `
      update run set status = 'pending', state = 'waiting', waiting_since = now() where id = '${run_id}';
      insert into run overriding user value
        select (jsonb_populate_record(r, jsonb_build_object('id', '${task}', 'parent_id', r.id, 'depth', 1))).* from run r where id = '${run_id}'`;
    const above = [`run:${run_id}`, 'runs-due'];
    acts = [
      [
        'budget_alert_made',
        `insert into budget_alert (scope_id, organization_id, period, percent, spent_usd, monthly_usd, created_at)
         values ('${workspace_id}', '${organization_id}', '2030-01-01', 50, 1, 2, now())`,
        ['budget-alerts'],
      ],
      [
        'policy_changed',
        `insert into approval_policy (workspace_id, read, write, destructive, expose, deadline_seconds, updated_by, updated_at)
         select '${workspace_id}', 'auto', 'auto', 'ask', 'ask', 60, created_by, now() from workspace where id = '${workspace_id}'`,
        [`approval-policy:${workspace_id}`],
      ],
      [
        'budget_changed',
        `insert into budget (scope_id, organization_id, monthly_usd, alerts, hard_stop, updated_at)
         values ('${organization_id}', '${organization_id}', 5, '{}', true, now())
         on conflict (scope_id) do update set monthly_usd = 5`,
        [`budget:${organization_id}`],
      ],
      [
        'budget_reservation_freed',
        `insert into budget_reservation values ('${task}', 1, 1, '${organization_id}', null, 1, now());
         delete from budget_reservation`,
        [`budget:${organization_id}`],
      ],
      [
        'key_revoked_told',
        `update api_key set revoked_at = now() where id = '${key_id}'`,
        [`credential:${key_id}`],
      ],
      ['key_deleted_told', `delete from api_key where id = '${api_key_id}'`, [`credential:${api_key_id}`]],
      [
        'session_revoked_told',
        `update session set revoked_at = now() where id = '${session_id}'`,
        [`credential:${session_id}`],
      ],
      [
        'session_deleted_told',
        `update session set revoked_at = null where id = '${session_id}'; delete from session where id = '${session_id}'`,
        [`credential:${session_id}`],
      ],
      ['grant_revoked_told', `delete from oauth_grant where id = '${grant_id}'`, [`credential:${grant_id}`]],
      [
        'service_account_changed_told',
        `update service_account set role = 'guest', sponsor_id = '${user_id}' where id = '${service_account_id}'`,
        [`access:${service_account_id}`],
      ],
      [
        'member_changed_told',
        `update organization_member set role = 'member' where user_id = '${user_id}' and organization_id = '${organization_id}'`,
        [
          `access:${user_id}`,
          `access:${service_account_id}`,
          `workspaces:${user_id}`,
          `workspaces:${service_account_id}`,
        ],
      ],
      [
        'organization_member_listed',
        `insert into organization_member (organization_id, user_id, role, created_at)
         values ('${organization_id}', '${user_id}', 'guest', now())
         on conflict (organization_id, user_id) do update set created_at = now()`,
        [`workspaces:${user_id}`, `workspaces:${service_account_id}`],
      ],
      [
        'workspace_member_changed_told',
        `update workspace_member set role = 'editor' where principal_id = '${user_id}'`,
        [`access:${user_id}`, `access:${service_account_id}`, `workspaces:${user_id}`],
      ],
      [
        'workspace_member_listed',
        `update workspace_member set created_at = now() where principal_id = '${user_id}'`,
        [`workspaces:${user_id}`],
      ],
      [
        'workspace_relisted',
        `update workspace set name = 'New' where id = '${workspace_id}'`,
        [`workspaces:${organization_id}`],
      ],
      [
        'workspace_visibility_told',
        `update workspace set visibility = 'org' where id = '${workspace_id}'`,
        [`workspace-access:${workspace_id}`, `workspaces:${organization_id}`],
      ],
      [
        'workspace_features_told',
        `update workspace set features_off = '{mcp}' where id = '${workspace_id}'`,
        [`workspace-access:${workspace_id}`, `workspaces:${organization_id}`],
      ],
      [
        'workspace_features_relisted',
        `update workspace set features_off = '{}' where id = '${workspace_id}'`,
        [`workspace-access:${workspace_id}`, `workspaces:${organization_id}`],
      ],
      ['task_goes_on', `${ofTask}; update run set state = 'queued' where id = '${task}'`, above],
      [
        'task_is_gone',
        `update run set state = 'waiting' where id in ('${run_id}', '${task}'); delete from run where id = '${task}'`,
        [...above, `run:${task}`, `run-hold:${task}`, `end:${task}`],
      ],
      [
        'unattended_run_ended',
        `update run set automation_run_id = '${automation_run_id}', status = 'pending', state = 'running' where id = '${run_id}';
         update run set status = 'completed', state = 'done' where id = '${run_id}'`,
        ['unattended-ends'],
      ],
      [
        'unattended_run_deleted',
        `insert into run overriding user value
           select (jsonb_populate_record(r, jsonb_build_object('id', '${task}', 'status', 'completed', 'state', 'done'))).*
           from run r where id = '${run_id}';
         delete from run where id = '${task}'; update run set automation_run_id = null, status = 'pending', state = 'waiting' where id = '${run_id}'`,
        ['unattended-ends'],
      ],
      [
        'run_gone',
        `delete from run where id = '${run_id}'`,
        [`run:${run_id}`, `run-hold:${run_id}`, `end:${run_id}`],
      ],
      [
        'workspace_listed',
        `insert into workspace overriding user value select (jsonb_populate_record(w, jsonb_build_object('id', '${task}'))).*
         from workspace w where id = '${workspace_id}'`,
        [`workspaces:${organization_id}`],
      ],
      [
        'workspace_deleted_told',
        `insert into workspace overriding user value
           select (jsonb_populate_record(w, jsonb_build_object('id', '${task}'))).* from workspace w where id = '${workspace_id}'
           on conflict do nothing;
         delete from workspace where id = '${task}'`,
        [`workspace-access:${task}`, `workspaces:${organization_id}`],
      ],
    ];
  });

  it('is tried out here, whichever it is', () => {
    const tried = [...refusals, ...acts].map(([name]) => name);
    expect(tried.sort()).toEqual(triggers.map(({ name }) => name));
  });

  it.each(refusals)('refuses: %s', async (_name, statement) => {
    await expect(service.database.query(statement)).rejects.toThrow('append-only');
  });

  it('publishes what the document says', async () => {
    const stateOf = `select state from run where id = '${things.run_id}'`;
    for (const [name, statement, topics] of acts) {
      const published = await publishedBy(statement);
      expect([name, published.sort()]).toEqual([name, [...topics].sort()]);
      if (name.startsWith('task_')) expect((await client.query(stateOf)).rows).toEqual([{ state: 'queued' }]);
    }
  });
});
