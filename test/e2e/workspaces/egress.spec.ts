import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FakeOpenAi } from '../../fakes/openai-server.js';
import { AgentClient } from '../../harness/agent.js';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

let model: FakeOpenAi;
let service: TestService;
let ada: Person;
let workspace: string;
let address: string;

beforeAll(async () => {
  model = await FakeOpenAi.start();
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'small',
    DEFAULT_MODEL: 'local/small',
  });
  ada = await service.person();
  workspace = await service.workspace(ada, { visibility: 'restricted' });
  address = `/api/workspaces/${workspace}/egress`;
});
afterAll(async () => {
  await service.stop();
  await model.stop();
});

/** Asks the proxy inside for a host, as curl would. */
const ask = (host: string) =>
  `exec 3<>/dev/tcp/127.0.0.1/3128 && printf 'CONNECT ${host}:443 HTTP/1.1\\r\\nHost: ${host}:443\\r\\n\\r\\n' >&3 && tail -1 <&3`;

async function bash(command: string): Promise<Json> {
  const { status, body } = await ada.client.post(`/api/workspaces/${workspace}/tools/bash`, {
    input: { command },
  });
  if (status !== 200 && status !== 201) throw new Error(`bash answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

describe('what sandboxes connect to', () => {
  it('is nothing, unless an admin lists hosts', async () => {
    expect((await ada.client.get(address)).body).toEqual({
      mode: 'none',
      hosts: [],
      presets: [],
      reachable: [],
      installation: 'allowlist',
    });
    expect((await bash(`echo [$HTTPS_PROXY]; ls /run; ${ask('localhost')}`)).output).toMatch(
      /^\[\]\n.*Connection refused/s,
    );
  });

  it('is opened by the first hosts alone, and stays closed where an admin has closed it', async () => {
    const other = `/api/workspaces/${await service.workspace(ada)}/egress`;
    const hosts = ['api.example.com'];
    expect((await ada.client.patch(other, { hosts: [] })).body).toMatchObject({ mode: 'none' });
    const another = `/api/workspaces/${await service.workspace(ada)}/egress`;
    expect((await ada.client.patch(another, { hosts })).body).toMatchObject({
      mode: 'allow',
      reachable: hosts,
    });
    await ada.client.patch(another, { mode: 'none' });
    const { body } = await ada.client.patch(another, { hosts: ['other.example.com'] });
    expect(body).toMatchObject({ mode: 'none', hosts: ['other.example.com'], reachable: [] });
  });

  it('is set by an admin, in one form, and in the audit log', async () => {
    const editor = await service.person('Editor');
    await service.join(editor, {
      organization: ada.organizationId,
      role: 'member',
      workspace,
      workspaceRole: 'editor',
    });
    expect((await editor.client.patch(address, { mode: 'allow' })).status).toBe(403);
    expect((await ada.client.patch(address, { hosts: ['*.com'] })).body.detail).toContain(
      'stand for too much',
    );
    expect((await ada.client.patch(address, { presets: ['everything'] })).status).toBe(422);
    const { status, body } = await ada.client.patch(address, {
      mode: 'allow',
      hosts: ['LOCALHOST', '*.Example.org.'],
    });
    expect([status, body]).toEqual([
      200,
      {
        mode: 'allow',
        hosts: ['*.example.org', 'localhost'],
        presets: [],
        reachable: ['*.example.org', 'localhost'],
        installation: 'allowlist',
      },
    ]);
    const named = await ada.client.patch(address, { presets: ['package-registries'] });
    expect(named.body.reachable).toEqual(
      expect.arrayContaining(['localhost', 'registry.npmjs.org', 'pypi.org']),
    );
    const rows = await service.database.query(
      `select details from audit_entry where action = 'workspace.set_egress' and workspace_id = $1`,
      [workspace],
    );
    expect(rows).toHaveLength(2);
  });

  it('is asked of a proxy, whose refusals say what to do', async () => {
    const one = await bash(`echo $HTTPS_PROXY $https_proxy; ${ask('evil.test')}`);
    expect(one.output).toMatch(
      /^http:\/\/127.0.0.1:3128 http:\/\/127.0.0.1:3128\nevil.test is not one of the hosts/,
    );
    expect(one.output).toContain('an admin of the workspace adds it to hosts, with mode allow, by PATCH');
    expect(one.output).toMatch(/\nRefused connections: evil.test is not one/);
    const inside = await bash(`${ask('localhost')}; touch /run/egress/x`);
    expect(inside.output).toContain('localhost leads to an address that is not one of the public internet');
    expect(inside.output).toContain('lists the host in OUTGOING_PRIVATE_HOSTS');
    expect(inside.output).toContain('Read-only file system');
  });

  it('is open to all commands of a run', async () => {
    const agent = new AgentClient(ada.client);
    const tools = [ask('a.test'), ask('b.test'), 'exec 3<>/dev/tcp/127.0.0.1/3128 && echo listens'];
    model.reply([
      ...tools.map(command => ({ tool: { name: 'bash', input: { command } } })),
      { text: 'Done.' },
    ]);
    const { result } = await agent.run('go', { workspace_id: workspace });
    const outputs = result.toolOutputs.map(({ output }: Json) => output);
    expect(outputs).toEqual([
      expect.stringMatching(/^a.test is not one of .*\nRefused connections: a.test is not/s),
      expect.stringMatching(/^b.test is not one of .*\nRefused connections: b.test is not/s),
      'listens',
    ]);
  });

  it('changes in sandboxes that run, too', async () => {
    const inSession = async (command: string) => {
      const call = { input: { command, timeout_seconds: 60 }, session: 'way-out' };
      return (await ada.client.post(`/api/workspaces/${workspace}/tools/bash`, call)).body.output;
    };
    const until = (sentence: string) =>
      `until (${ask('b.example.org')}) | grep '${sentence}'; do :; done | head -1`;
    expect(await inSession(ask('localhost'))).toContain('localhost leads to an address');
    await ada.client.patch(address, { hosts: ['other.example'], presets: [] });
    expect(await inSession(until('is not one of the hosts'))).toContain('from here (other.example)');
    expect(await inSession(ask('localhost'))).toContain('localhost is not one of the hosts');
    await ada.client.patch(address, { mode: 'none' });
    expect(
      await inSession(`until (${ask('other.example')}) | grep 'from here (none)'; do :; done`),
    ).toContain('other.example is not one of the hosts');
    await ada.client.patch(address, { mode: 'allow' });
  });

  it('is nothing again once it is switched off', async () => {
    expect((await ada.client.patch(address, { mode: 'none' })).body).toMatchObject({
      mode: 'none',
      reachable: [],
    });
    expect((await bash('echo [$HTTPS_PROXY]')).output).toBe('[]');
  });
});
