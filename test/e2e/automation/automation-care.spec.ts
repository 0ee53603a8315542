import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type AgentGround, startAgents } from '../../harness/agent.js';
import { Automations } from '../../harness/automations.js';
import { itWithinOne } from '../../harness/calendar.js';
import type { Json } from '../../harness/client.js';
import type { Person } from '../../harness/service.js';
import { settled } from '../../harness/settled.js';

let ground: AgentGround;
let workspace: string;
let own: Automations;
let editor: Person;

beforeAll(async () => {
  ground = await startAgents({ DEFAULT_MODEL: 'local/fake' });
  const { service, ada } = ground;
  workspace = await service.workspace(ada);
  own = new Automations(ada.client, workspace);
  editor = await service.person('Eve');
  await service.join(editor, {
    organization: ada.organizationId,
    role: 'guest',
    workspace,
    workspaceRole: 'editor',
  });
  await own.write('precious.md', 'kept');
});
afterAll(() => ground.stop());

const query = (text: string, values: unknown[] = []) => ground.service.database.query<Json>(text, values);

/** What Ada was told of a type, about a deployment. */
async function told(type: string, deploymentId: string): Promise<Json[]> {
  await settled(ground.service, 'notifications');
  const { body } = await ground.ada.client.get('/api/notifications?limit=200');
  return body.items.filter((item: Json) => item.type === type && item.data.deployment_id === deploymentId);
}

/** Resolves with what `look` finds, once it finds something. */
async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise(resolve => setTimeout(resolve, 25));
  }
}

describe('a run that waits for an approval', () => {
  const asking = 'tools: [bash]\nactions: [share_create]\non_approval: wait\napproval_deadline: 1h\n';
  const share = () => ({
    tool: {
      name: 'actions_run',
      input: { name: 'share_create', input: { workspace_id: workspace, path: 'precious.md' } },
    },
  });

  /** A run, and the approval that it waits for. */
  async function waiting(
    name: string,
    more = '',
  ): Promise<{ path: string; id: string; run: Json; approval: string; url: string }> {
    const path = await own.file(name, asking + more, 'Share the file.\n');
    const { id, secrets } = await own.deploy(path);
    ground.model.reply([share()]);
    const run = await own.start(path);
    const approval = await until<string>(async () => {
      const { body } = await own.client.get(`/api/automation/runs/${run.run_id}`);
      return body.state === 'waiting' ? body.approval_id : undefined;
    });
    return { path, id, run, approval, url: secrets[0]?.url ?? '' };
  }

  it('keeps its place, names the approval to what comes meanwhile, and goes on when it is decided', async () => {
    const { path, run, approval, url } = await waiting(
      'waits',
      'concurrency: { policy: skip }\non:\n  - webhook: {}',
    );
    const [row] = await query('select holder, due from run where automation_run_id = $1', [run.run_id]);
    expect(row).toEqual({ holder: null, due: false });
    const again = await own.ask('trigger', { file_path: path });
    expect([again.status, again.body.detail]).toEqual([409, expect.stringContaining(approval)]);
    const sent = await fetch(ground.service.url + new URL(url).pathname, { method: 'POST', body: '{}' });
    expect(((await sent.json()) as Json).reason).toBe(`waiting_for_approval:${approval}`);
    ground.model.reply([{ text: 'Shared.' }]);
    await own.client.post(`/api/agent/approvals/${approval}`, { decision: 'allow' });
    expect(await own.ended(run)).toMatchObject({ status: 'completed', output: { response: 'Shared.' } });
  });

  it('reminds people twice, and fails when nobody has decided in time', async () => {
    const { id, run, approval } = await waiting('expires');
    const [asked] = await query(
      "select expires_at - created_at between interval '59 minutes' and interval '61 minutes' as hour from approval where id = $1",
      [approval],
    );
    expect(asked?.hour).toBe(true);
    const elapse = async (part: string) => {
      await query(
        `with moved as (
           update approval set created_at = now() - interval '1 hour' * $2::float8, expires_at = now() + interval '1 hour' * (1 - $2::float8)
           where id = $1 returning id)
         select notify_topic('approval-asked') from moved`,
        [approval, part],
      );
    };
    const reminded = async () => {
      await settled(ground.service, 'notifications');
      const { body } = await own.client.get('/api/notifications?limit=200');
      return body.items.filter(
        ({ type, data }: Json) => type === 'approval.reminded' && data.approval_id === approval,
      );
    };
    await elapse('0.6');
    await until(async () => ((await reminded()).length === 1 ? true : undefined));
    await elapse('0.95');
    await until(async () => ((await reminded()).length === 2 ? true : undefined));
    await elapse('1.01');
    expect(await own.ended(run)).toMatchObject({ status: 'error', stop_reason: 'approval_expired' });
    expect((await reminded()).every(({ read_at }: Json) => read_at !== null)).toBe(true);
    expect(await own.deployment(id)).toMatchObject({ failures_in_row: 1 });
    const shares = await own.client.get(`/api/share?workspace_id=${workspace}`);
    expect(shares.body.items).toHaveLength(1);
  });

  it('refuses the call alone where its file says so, and fails where it says nothing', async () => {
    const refusing = await own.file('refuses', 'actions: [share_create]\non_approval: refuse', 'Share.\n');
    ground.model.reply([share(), { text: 'It is left to do.' }]);
    expect(await own.run(refusing, { draft: true })).toMatchObject({
      status: 'completed',
      stop_reason: null,
      output: { response: 'It is left to do.' },
    });
    const failing = await own.file('denied', 'actions: [share_create]', 'Share.\n');
    ground.model.reply([share()]);
    expect(await own.run(failing, { draft: true })).toMatchObject({
      status: 'error',
      stop_reason: 'approval_denied',
    });
  });
});

describe('people are told', () => {
  it('of failures and of the pause that follows, and of what completed where the file asks for it', async () => {
    const path = await own.script(
      'told',
      'test -e told.txt',
      'pause_after: 2\nnotify: [failed, paused, completed]',
    );
    const { id } = await own.deploy(path);
    await own.run(path);
    await own.run(path);
    expect(await told('automation.failed', id)).toMatchObject([
      { title: expect.stringContaining('“told”'), body: expect.stringContaining('exit code 1') },
      {},
    ]);
    expect(await told('automation.paused', id)).toMatchObject([
      { severity: 'critical', body: expect.stringContaining('2 runs in a row failed') },
    ]);
    await own.client.post(`/api/automation/deployments/${id}/resume`, {});
    await own.write('told.txt', 'yes');
    await own.run(path);
    expect(await told('automation.completed', id)).toHaveLength(1);
    const quiet = await own.deploy(await own.script('quiet', 'false', 'notify: [paused]'));
    await own.run('automations/quiet.md');
    expect(await told('automation.failed', quiet.id)).toEqual([]);
  });

  it('who are admins, where whoever deployed it is gone', async () => {
    const leo = await ground.service.person('Leo');
    await ground.service.join(leo, {
      organization: ground.ada.organizationId,
      role: 'member',
      workspace,
      workspaceRole: 'editor',
    });
    const theirs = new Automations(leo.client, workspace);
    const deployed = await theirs.deploy(await theirs.script('of-leo', 'true', 'on:\n  - webhook: {}'));
    const gone = `/api/organizations/${ground.ada.organizationId}/members/${leo.id}`;
    expect((await ground.ada.client.delete(gone)).status).toBe(200);
    const { pathname } = new URL(deployed.secrets[0].url);
    const sent = await ground.service.stranger.post(pathname, { a: 1 });
    expect(await own.ended(sent.body)).toMatchObject({ status: 'error', stop_reason: 'authority_lost' });
    expect(await own.deployment(deployed.id)).toMatchObject({ state: 'paused' });
    expect(await told('automation.paused', deployed.id)).toMatchObject([
      { body: expect.stringContaining('Leo, for whom it acts') },
    ]);
  });

  it('once, that nothing has succeeded for as long as the file says', async () => {
    const path = await own.script('silent', 'true', 'alert_after: 26h');
    const { id } = await own.deploy(path);
    const overdue = () =>
      query(
        `with due as (update automation_deployment set silent_at = now() where id = $1 and silent_at is not null returning id)
         select notify_topic('automation-triggers') from due`,
        [id],
      );
    await overdue();
    await until(async () => (await told('automation.silent', id))[0]);
    await overdue();
    expect(await told('automation.silent', id)).toHaveLength(1);
    await own.run(path);
    const [row] = await query(
      "select silent_at > now() + interval '25 hours' as again from automation_deployment where id = $1",
      [id],
    );
    expect(row?.again).toBe(true);
    await own.stop(path);
    const [stopped] = await query('select silent_at from automation_deployment where id = $1', [id]);
    expect(stopped?.silent_at).toBeNull();
  });

  it('once for each version, that its files have changed, with what has', async () => {
    await own.write('.agents/drifting.md', '---\ndescription: Drifts.\n---\nFirst.\n');
    const path = await own.file('drifting', 'agent: drifting', 'Go.\n');
    const { id } = await own.deploy(path);
    expect((await own.deployment(id)).changes).toEqual([]);
    await own.write('unrelated.md', 'x');
    await own.write('.agents/drifting.md', '---\ndescription: Drifts.\n---\nSecond.\n');
    await until(async () => (await told('automation.drift', id))[0]);
    const read = await own.deployment(id);
    expect(read.changes).toEqual([
      { path: '.agents/drifting.md', diff: expect.stringContaining('-First.\n+Second.') },
    ]);
    await own.write('.agents/drifting.md', '---\nnmae: x\n---\nThird.\n');
    expect((await own.deployment(id)).drift).toBe('invalid');
    expect(await told('automation.drift', id)).toHaveLength(1);
    await own.write('.agents/drifting.md', '---\ndescription: Drifts.\n---\nFourth.\n');
    expect(await own.deploy(path)).toMatchObject({ version: 2, drift: 'none' });
    await own.client.delete(`/api/workspaces/${workspace}/files?path=${path}`);
    await until(async () => ((await told('automation.drift', id)).length === 2 ? true : undefined));
    expect(await own.deployment(id)).toMatchObject({ drift: 'missing', state: 'live' });
  });
});

const inOneDay = itWithinOne('day', () => ground.model.clear());

describe('a budget with a hard stop', () => {
  inOneDay('has deliveries skipped, pauses nothing, and is told of once a day', async () => {
    const path = await own.file(`budgeted-${Date.now()}`, 'on:\n  - webhook: {}\npause_after: 1', 'Go.\n');
    const { id, secrets } = await own.deploy(path);
    const budget = (monthly_usd: number | null) =>
      own.client.put(`/api/organizations/${ground.ada.organizationId}/billing/budget`, { monthly_usd });
    expect((await budget(0)).status).toBe(200);
    const { pathname } = new URL(secrets[0].url);
    const send = async (): Promise<Json> =>
      (await fetch(ground.service.url + pathname, { method: 'POST', body: '{}' })).json() as Promise<Json>;
    expect(await send()).toMatchObject({ status: 'skipped', reason: 'budget', run_id: null });
    expect(await send()).toMatchObject({ status: 'skipped', reason: 'budget' });
    expect((await own.ask('trigger', { file_path: path })).status).toBe(402);
    expect(await own.deployment(id)).toMatchObject({ state: 'live', failures_in_row: 0 });
    expect(await told('automation.skipped', id)).toMatchObject([{ body: expect.stringContaining('budget') }]);
    await budget(null);
    ground.model.reply([{ text: 'Done.' }]);
    const [delivery] = await own.deliveries(`&deployment_id=${id}&state=skipped`);
    const replayed = await own.client.post(`/api/automation/deliveries/${delivery?.id}/replay`, {});
    expect(await own.ended(replayed.body)).toMatchObject({ status: 'completed', trigger_kind: 'webhook' });
  });

  it('is read by automation: usage carries the deployment, of agents and of scripts', async () => {
    const path = await own.file('counted', 'name: Counted', 'Go.\n');
    const { id } = await own.deploy(path);
    ground.model.reply([{ text: 'Done.' }]);
    await own.run(path);
    const script = await own.deploy(await own.script('timed', 'sleep 0.2'));
    await own.run('automations/timed.md');
    const asked = `/api/organizations/${ground.ada.organizationId}/billing/usage?group_by=automation`;
    const { body } = await own.client.get(asked);
    const of = (key: string) => body.items.find((item: Json) => item.key === key);
    expect(of(id)).toMatchObject({ model_calls: 1 });
    expect(of(script.id).tool_seconds).toBeGreaterThan(0.1);
  });
});

describe('a service account', () => {
  const account = async (role: string): Promise<string> => {
    const { body } = await own.client.post('/api/service-accounts', {
      organization_id: ground.ada.organizationId,
      name: `Bot ${role}`,
      role,
    });
    return body.id;
  };

  it('is whom a deployment acts for where it may, as long as it may', async () => {
    const id = await account('member');
    const path = await own.script('standing-in', 'true');
    const deploying = await own.ask('deployments', { file_path: path, run_as: id });
    expect(deploying.body).toMatchObject({ run_as: id, acts_for: id });
    const [row] = await query('select created_by from automation_deployment where id = $1', [
      deploying.body.id,
    ]);
    expect(row?.created_by).toBe(ground.ada.id);
    const run = await own.run(path, { sample: { kind: 'schedule' } });
    expect(run).toMatchObject({ status: 'completed', trigger_kind: 'schedule' });
    await query(
      'update automation_run set actor = d.actor from automation_deployment d where d.id = deployment_id',
    );
    const again = await own.deploy(path);
    expect(again).toMatchObject({ run_as: null, acts_for: ground.ada.id, version: 2 });
  });

  it('with a role above that of who deploys is refused, as is one of elsewhere', async () => {
    const theirs = new Automations(editor.client, workspace);
    const path = await theirs.script('climbing', 'true');
    const admin = await account('admin');
    const refused = await theirs.ask('deployments', { file_path: path, run_as: admin });
    expect([refused.status, refused.body.detail]).toEqual([422, expect.stringContaining('above yours')]);
    const foreign = await editor.client.post('/api/service-accounts', {
      organization_id: editor.organizationId,
      name: 'Other',
      role: 'member',
    });
    const unknown = await own.ask('deployments', { file_path: path, run_as: foreign.body.id });
    expect([unknown.status, unknown.body.detail]).toEqual([422, expect.stringContaining('no such')]);
  });

  it('that is deleted has what acts for it paused', async () => {
    const id = await account('member');
    const path = await own.script('orphaned', 'true', 'on:\n  - webhook: {}');
    const { body } = await own.ask('deployments', { file_path: path, run_as: id });
    const { pathname } = new URL(body.secrets[0].url);
    await own.client.delete(`/api/service-accounts/${id}`);
    const sent = await fetch(ground.service.url + pathname, { method: 'POST', body: '{}' });
    expect(await own.ended((await sent.json()) as Json)).toMatchObject({ stop_reason: 'authority_lost' });
    expect(await own.deployment(body.id)).toMatchObject({ state: 'paused' });
    expect(await told('automation.paused', body.id)).toHaveLength(1);
  });
});

describe('a run', () => {
  it('is given what a trigger would bring, and not an input besides', async () => {
    const path = await own.script('sampled', 'cp "$ATELIER_INPUT" "$ATELIER_OUTPUT"', 'on:\n  - webhook: {}');
    const sample = { kind: 'webhook', payload: { action: 'opened' }, headers: { 'X-Event': 'issues' } };
    expect(await own.run(path, { draft: true, sample })).toMatchObject({
      trigger_kind: 'webhook',
      output: { body: { action: 'opened' }, headers: { 'x-event': 'issues' }, query: {} },
    });
    expect((await own.ask('trigger', { file_path: path, draft: true, sample, input: 1 })).status).toBe(422);
    const wrong = { ...sample, headers: { a: 1 } };
    expect((await own.ask('trigger', { file_path: path, draft: true, sample: wrong })).status).toBe(422);
  });

  it('sees its input and its program at /run/automation, and cannot change them', async () => {
    const path = await own.script(
      'shown',
      'cat /run/automation/input.json; cat /run/automation/script.sh | head -1; echo x > /run/automation/input.json || echo refused',
    );
    const run = await own.run(path, { draft: true, input: { a: 1 } });
    expect(run.log).toContain('{"a":1}cat /run/automation/input.json');
    expect(run.log).toContain('refused');
    const agent = await own.file('looking-at-input', 'tools: [bash]', 'Look.\n');
    const call = {
      tool: { name: 'bash', input: { command: 'cat /run/automation/input.json $ATELIER_INPUT' } },
    };
    ground.model.reply([call, { text: 'Seen.' }]);
    const seen = await own.run(agent, { draft: true, input: { b: 2 } });
    const { body } = await own.client.get(`/api/agent/status/${seen.call_id}`);
    expect(body.result.toolOutputs[0].output).toContain('{"b":2}{"b":2}');
  });

  it('is watched: what a script prints and its end, and the events of an agent', async () => {
    const path = await own.script(
      'printing',
      'echo one; sleep 0.3; echo two; echo \'{"a":1}\' > "$ATELIER_OUTPUT"',
    );
    const run = await own.start(path, { draft: true });
    const events = await own.client.events(`/api/automation/runs/${run.run_id}/events`);
    const text = events.flatMap(({ event, data }) => (event === 'script.output' ? [data.text] : [])).join('');
    expect(text.trim()).toBe('one\ntwo');
    expect(events.at(-1)).toMatchObject({
      event: 'run.completed',
      data: { status: 'completed', exit_code: 0 },
    });
    const rest = await own.client.events(
      `/api/automation/runs/${run.run_id}/events?after=${Number(events.at(-2)?.id)}`,
    );
    expect(rest.map(({ event }) => event)).toEqual(['run.completed']);
    const behind = (after: number) =>
      own.client.events(`/api/automation/runs/${run.run_id}/events?after=${after}`);
    for (const more of [0, 7])
      expect(await behind(Number(events.at(-1)?.id) + more)).toEqual(events.slice(-1));
    const agent = await own.file('watched', 'name: Watched', 'Go.\n');
    ground.model.reply([{ text: 'Done.' }]);
    const asked = await own.start(agent, { draft: true });
    const seen = await own.client.events(`/api/automation/runs/${asked.run_id}/events`);
    expect(seen.at(-1)).toMatchObject({ event: 'run.completed' });
    const after = Number(seen.at(-1)?.id);
    expect(await own.client.events(`/api/automation/runs/${asked.run_id}/events?after=${after}`)).toEqual(
      seen.slice(-1),
    );
    const stranger = await ground.service.person('Sam');
    expect((await stranger.client.get(`/api/automation/runs/${run.run_id}/events`)).status).toBe(404);
  });

  it('of a draft is not for programs, which could have written the file', async () => {
    const path = await own.script('drafted', 'true');
    const acting = await own.file('escalating', 'actions: [automation_trigger]', 'Go.\n');
    const input = {
      name: 'automation_trigger',
      input: { workspace_id: workspace, file_path: path, draft: true },
    };
    ground.model.reply([{ tool: { name: 'actions_run', input } }, { text: 'Done.' }]);
    const run = await own.run(acting, { draft: true });
    const { body } = await own.client.get(`/api/agent/status/${run.call_id}`);
    expect(body.result.toolOutputs[0]).toMatchObject({
      output: expect.stringContaining('A draft is run by'),
    });
  });

  it('is forgotten with what it printed after 90 days, payloads after 14', async () => {
    const path = await own.script('old', 'echo printed');
    const run = await own.run(path, { draft: true, input: { a: 1 } });
    const { HeldDeliveries } = await import('../../../src/automation/triggers/held-deliveries.js');
    const chores = ground.service.app.get(HeldDeliveries, { strict: false });
    const age = (days: number) =>
      query(
        `with d as (update automation_delivery set received_at = now() - make_interval(days => $2) where run_id = $1)
         update automation_run set finished_at = now() - make_interval(days => $2) where id = $1`,
        [run.run_id, days],
      );
    await age(15);
    await chores.forgetOld();
    const kept = await own.client.get(`/api/automation/deliveries/${run.delivery_id}`);
    expect([kept.status, kept.body.payload]).toEqual([200, undefined]);
    expect((await own.client.post(`/api/automation/runs/${run.run_id}/replay`, {})).status).toBe(409);
    await age(91);
    await chores.forgetOld();
    expect((await own.client.get(`/api/automation/runs/${run.run_id}`)).status).toBe(404);
    expect((await own.client.get(`/api/automation/deliveries/${run.delivery_id}`)).status).toBe(404);
    expect(await query('select from automation_output where run_id = $1', [run.run_id])).toEqual([]);
  });
});

describe('a deployment', () => {
  it('with a webhook is among what is reachable from outside, until its address is ended', async () => {
    const path = await own.script('reachable', 'true', 'on:\n  - webhook: {}');
    const { id, secrets, triggers } = await own.deploy(path);
    const exposed = async (): Promise<Json | undefined> => {
      const asked = `/api/share/exposed?organization_id=${ground.ada.organizationId}&limit=200`;
      const { body } = await own.client.get(asked);
      return body.items.find((item: Json) => item.id === triggers[0].id);
    };
    const listed = await exposed();
    expect(listed).toMatchObject({
      kind: 'webhook',
      name: path,
      protection: 'link',
      allow: 'use',
      url: null,
    });
    expect((await own.client.delete(listed?.revoke_path)).status).toBe(200);
    expect(await exposed()).toBeUndefined();
    const { pathname } = new URL(secrets[0].url);
    expect((await fetch(ground.service.url + pathname, { method: 'POST', body: '{}' })).status).toBe(404);
    expect(await own.deployment(id)).toMatchObject({ state: 'live' });
    const again = await own.deploy(path);
    expect(again.secrets[0].url).not.toBe(secrets[0].url);
    expect(await exposed()).toBeDefined();
  });

  it('shows its last runs, and when its triggers fired', async () => {
    const path = await own.script('shown-runs', 'true', 'on:\n  - webhook: {}');
    const { id, secrets } = await own.deploy(path);
    const { pathname } = new URL(secrets[0].url);
    const sent = await fetch(ground.service.url + pathname, { method: 'POST', body: '{}' });
    const run = await own.ended((await sent.json()) as Json);
    const read = await own.deployment(id);
    expect(read.last_runs).toMatchObject([{ run_id: run.run_id, status: 'completed' }]);
    expect(read.triggers[0].last_fires).toHaveLength(1);
  });

  it('goes with its workspace, and ends what runs for it', async () => {
    const gone = await ground.service.workspace(ground.ada);
    const theirs = new Automations(ground.ada.client, gone);
    const path = await theirs.script('going', 'sleep 600', 'on:\n  - webhook: {}');
    const { id, secrets } = await theirs.deploy(path);
    await theirs.start(path);
    const { pathname } = new URL(secrets[0].url);
    const sent = { method: 'POST', headers: { 'idempotency-key': 'once' }, body: '{}' };
    const { delivery_id } = (await (await fetch(ground.service.url + pathname, sent)).json()) as Json;
    await theirs.run(await theirs.script('tried', 'echo here'), { draft: true });
    const left = () =>
      query(
        `select (select count(*)::int from automation_deployment where workspace_id = $1) as deployments,
           (select count(*)::int from automation_delivery where workspace_id = $1) as deliveries,
           (select count(*)::int from automation_run where workspace_id = $1) as runs,
           (select count(*)::int from automation_event where workspace_id = $1) as events,
           (select count(*)::int from automation_trigger where deployment_id = $2) as triggers,
           (select count(*)::int from automation_version where deployment_id = $2) as versions,
           (select count(*)::int from automation_seen where key = 'once' and delivery_id = $3) as keys`,
        [gone, id, delivery_id],
      );
    expect(await left()).toEqual([
      {
        deployments: 1,
        deliveries: 3,
        runs: 3,
        events: expect.any(Number),
        triggers: 1,
        versions: 1,
        keys: 1,
      },
    ]);
    expect((await ground.ada.client.delete(`/api/workspaces/${gone}`)).status).toBe(200);
    expect((await ground.ada.client.get(`/api/automation/deployments/${id}`)).status).toBe(404);
    expect((await fetch(ground.service.url + pathname, { method: 'POST', body: '{}' })).status).toBe(404);
    expect(await left()).toEqual([
      { deployments: 0, deliveries: 0, runs: 0, events: 0, triggers: 0, versions: 0, keys: 0 },
    ]);
  });
});
