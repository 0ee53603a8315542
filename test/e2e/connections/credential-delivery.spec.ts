import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeOpenAi } from '../../fakes/openai-server.js';
import { AgentClient } from '../../harness/agent.js';
import type { Json } from '../../harness/client.js';
import { serveRepositories } from '../../harness/git-server.js';
import { type Person, TestService } from '../../harness/service.js';
import { TlsServers } from '../../harness/tls-servers.js';

const SECRET = 'frg_4c1e-the-key-of-the-team';
const HERS = 'frg_99ab-the-key-of-ada';
const REVOKED = 'frg_0000-the-key-that-was-revoked';

const out = new PassThrough();
const write = process.stdout.write.bind(process.stdout);
let logged = '';
let model: FakeOpenAi;
let service: TestService;
let servers: TlsServers;
let api: string;
let forge: string;
let ada: Person;
/** A member of the organization, an editor of its workspaces. */
let bob: Person;
/** A member who only reads. */
let vera: Person;
let workspace: string;
let other: string;
let repositories: string;
let isRevoked = false;
/** Bytes of buffers that were in use, while an upload came. */
let mostHeld = 0;
/** Requests as the servers saw them. */
let seen: { host: string; url: string; method: string; authorization: string | undefined }[];

beforeAll(async () => {
  process.stdout.write = ((chunk: string) => out.write(chunk)) as typeof process.stdout.write;
  out.on('data', chunk => {
    logged += String(chunk);
  });
  repositories = mkdtempSync(path.join(tmpdir(), 'repositories-'));
  servers = new TlsServers();
  const note = (request: IncomingMessage) => {
    const { url = '', method = '', headers } = request;
    seen.push({ host: headers.host ?? '', url, method, authorization: headers.authorization });
  };
  api = await servers.start('127.0.0.2', (request, response) => {
    note(request);
    answer(request, response);
  });
  const git = serveRepositories(repositories, header => header === basic(SECRET));
  forge = await servers.start('127.0.0.3', (request, response) => {
    note(request);
    git(request, response);
  });
  model = await FakeOpenAi.start();
  service = await TestService.start({
    OUTGOING_PRIVATE_HOSTS: `${api},${forge}`,
    LOG_LEVEL: 'trace',
    LOG_FORMAT: 'text',
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'small',
    DEFAULT_MODEL: 'local/small',
  });
  [ada, bob, vera] = [await service.person('Ada'), await service.person('Bob'), await service.person('Vera')];
  workspace = await service.workspace(ada, { visibility: 'restricted' });
  other = await service.workspace(ada, { visibility: 'restricted' });
  const organization = { organization: ada.organizationId, role: 'member' };
  await service.join(bob, { ...organization, workspace, workspaceRole: 'editor' });
  await service.join(vera, { ...organization, workspace, workspaceRole: 'viewer' });
  const definition = {
    id: 'forge',
    name: 'Forge',
    docs: 'https://forge.example.com/docs',
    auth: 'api_key',
    api: {
      base_url: `https://${api}/v1`,
      hosts: [],
      header: 'Authorization',
      template: 'Bearer {api_key}',
      probe: '/me',
    },
    git: { hosts: [forge], username: 'git' },
    fields: [{ name: 'api_key', label: 'Key', secret: true }],
    variables: ['FORGE_TOKEN'],
  };
  const made = await ada.client.post('/api/integrations/providers', {
    organization_id: ada.organizationId,
    definition,
  });
  if (made.status !== 200) throw new Error(JSON.stringify(made.body));
});
beforeEach(async () => {
  seen = [];
  await service.database.query('delete from integration_connection');
});
afterAll(async () => {
  await service?.stop();
  await model?.stop();
  servers?.stop();
  rmSync(repositories, { recursive: true, force: true });
  process.stdout.write = write;
});

/** How much of an upload comes between two looks at what is held of it. */
const LOOK_BYTES = 32 * 1024 ** 2;
/** Of buffers that something still refers to, not of those that are yet to be collected. */
function buffersInUse(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().arrayBuffers;
}

const basic = (password: string) => `Basic ${Buffer.from(`git:${password}`).toString('base64')}`;

function answer(request: IncomingMessage, response: ServerResponse): void {
  const { url = '', headers } = request;
  if (headers.authorization === `Bearer ${REVOKED}`)
    return void response.writeHead(isRevoked ? 401 : 200).end('who?');
  if (url.startsWith('/v1/echo')) return void response.end(JSON.stringify(headers));
  if (url.startsWith('/v1/forever')) return void response.write('begun\n');
  if (url.startsWith('/v1/pieces')) {
    response.write('one ');
    return void setImmediate(() => response.end('two'));
  }
  if (url.startsWith('/v1/upload')) {
    let bytes = 0;
    let nextLook = LOOK_BYTES;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes < nextLook) return;
      nextLook += LOOK_BYTES;
      mostHeld = Math.max(mostHeld, buffersInUse());
    });
    return void request.once('end', () => response.end(`got ${bytes}`));
  }
  response.end(`welcome ${headers['user-agent']?.split('/')[0]}`);
}

async function connect(person: Person, fields: Json = {}, api_key = SECRET): Promise<string> {
  const { status, body } = await person.client.post('/api/integrations', {
    provider: 'forge',
    organization_id: ada.organizationId,
    owner: 'organization',
    fields: { api_key },
    ...fields,
  });
  if (status !== 200) throw new Error(`connecting answered ${status}: ${JSON.stringify(body)}`);
  // It was asked whether it takes the key.
  seen = [];
  return body.connection.id;
}
const grant = (id: string, grants: Json[] = [{ workspace_id: workspace }], person = ada) =>
  person.client.put(`/api/integrations/${id}/workspaces`, { grants });
async function granted(grantFields: Json = {}): Promise<string> {
  const id = await connect(ada);
  const { status, body } = await grant(id, [{ workspace_id: workspace, ...grantFields }]);
  if (status !== 200) throw new Error(`granting answered ${status}: ${JSON.stringify(body)}`);
  return id;
}

async function output(command: string, person = ada, session?: string, place = workspace): Promise<string> {
  const { status, body } = await person.client.post(`/api/workspaces/${place}/tools/bash`, {
    input: { command, timeout_seconds: 120 },
    ...(session && { session }),
  });
  if (status !== 200) throw new Error(`bash answered ${status}: ${JSON.stringify(body)}`);
  return body.output;
}
const ask = (rest = 'x') => `curl -sS https://${api}/v1/${rest}`;
const uses = (): Promise<Json[]> =>
  service.database.query(`select * from action_run where action = 'connection_use' order by id`);

/** Programs as they are; each says what it got, and is asked only where it is. */
const programs = () => [
  { has: 'curl', run: ask(), said: 'welcome curl' },
  {
    has: 'node',
    run: `NODE_NO_WARNINGS=1 node -e 'fetch("https://${api}/v1/x").then(r => r.text()).then(console.log)'`,
    said: 'welcome node',
  },
  {
    has: 'python3',
    run: `python3 -c 'import urllib.request; print(urllib.request.urlopen("https://${api}/v1/x").read().decode())'`,
    said: 'welcome Python-urllib',
  },
  {
    has: 'pip3',
    run: `python3 -c 'from pip._vendor import requests; print(requests.get("https://${api}/v1/x").text)'`,
    said: 'welcome python-requests',
  },
];

describe('programs of a sandbox', () => {
  it('ask as ever, and their requests arrive with the credential of what was granted', async () => {
    await granted();
    let asked = 0;
    for (const { has, run, said } of programs()) {
      if ((await output(`PATH=$PATH:/opt/node/bin; command -v ${has} >/dev/null && echo there`)) !== 'there')
        continue;
      asked++;
      seen = [];
      expect([has, await output(`PATH=$PATH:/opt/node/bin; ${run}`)]).toEqual([has, said]);
      expect([has, seen.at(-1)?.authorization]).toEqual([has, `Bearer ${SECRET}`]);
    }
    expect(asked).toBeGreaterThanOrEqual(3);
    expect(await output('echo $FORGE_TOKEN')).toBe('atelier-placeholder');
  });

  it('clone and push with git, with the user name that goes with the token', async () => {
    await granted();
    const bare = path.join(repositories, 'tiny.git');
    execFileSync('git', ['init', '--bare', '--initial-branch=main', bare], { stdio: 'pipe' });
    execFileSync('git', ['-C', bare, 'config', 'http.receivepack', 'true']);
    const said = await output(
      [
        `rm -rf got; git clone -q https://${forge}/tiny.git got 2>/dev/null && cd got`,
        'echo one > one; git add one; git -c user.name=Ada -c user.email=ada@example.org commit -qm first',
        'git push -q origin HEAD:main && echo pushed; cat .git/config',
      ].join('\n'),
    );
    expect(said).toMatch(/^pushed\n/);
    expect(said).not.toMatch(/frg_|Basic/);
    expect(execFileSync('git', ['-C', bare, 'log', '--format=%s', 'main'], { encoding: 'utf8' })).toBe(
      'first\n',
    );
  });

  it('reach the methods and paths of the grant, and are told who changes it', async () => {
    await granted({ methods: ['GET'], paths: ['/items', '/team/site.git'] });
    expect(await output(ask('items/7'))).toBe('welcome curl');
    const refused = await output(
      `${ask('others')}; ${ask('itemsandmore')}; curl -sS -X DELETE https://${api}/v1/items/7; curl -sS https://${api}/items; ` +
        `curl -sS https://${forge}/tiny.git/info/refs; curl -sS https://${forge}/team/site.git/info/refs?service=git-upload-pack`,
    );
    expect(
      refused.match(/is not permitted from here, only GET below \/v1\/items, \/team\/site.git/g),
    ).toBeNull();
    expect(refused.match(/is not permitted from here, only GET below/g)?.length).toBeGreaterThanOrEqual(5);
    expect(refused).toContain('a person who manages the connection adds the method and the path');
    expect(seen.map(({ url }) => url)).toEqual([
      '/v1/items/7',
      '/team/site.git/info/refs?service=git-upload-pack',
    ]);
  });

  it('enter what they did in the ledger: one row for a run, without a secret', async () => {
    const id = await granted();
    model.reply([
      { tool: { name: 'bash', input: { command: `${ask('a')}; ${ask('b?q=private')}` } } },
      { tool: { name: 'bash', input: { command: ask('c') } } },
      { text: 'Done.' },
    ]);
    const before = (await uses()).length;
    const { status } = await new AgentClient(ada.client).run('go', { workspace_id: workspace });
    expect(status).toBe('completed');
    let row: Json | undefined;
    while (row?.status !== 'completed') row = (await uses())[before];
    expect(await uses()).toHaveLength(before + 1);
    expect(row).toMatchObject({
      caller_kind: 'run',
      actor_id: ada.id,
      workspace_id: workspace,
      surface: 'sandbox',
      input: { connection_id: id, provider: 'forge', host: '127.0.0.2' },
      output: { requests: 3, by: { 'GET / 200': 3 } },
    });
    const { body } = await ada.client.get('/api/action-runs?action=connection_use&limit=1');
    expect(body.items[0]).toMatchObject({ action: 'connection_use', caller: { kind: 'run' } });
    expect(JSON.stringify(row) + JSON.stringify(body)).not.toMatch(/frg_|private/);
  });
});

/** Sends bytes to a host by the proxy, over one connection, as no library would. */
const RAW = `
const [, , authority, ...requests] = process.argv;
const socket = require('node:net').connect(3128, '127.0.0.1');
socket.write('CONNECT ' + authority + ' HTTP/1.1\\r\\nHost: ' + authority + '\\r\\n\\r\\n');
socket.once('data', () => {
  const secured = require('node:tls').connect({ socket, host: authority.split(':')[0] });
  secured.write(requests.map(one => one + '\\r\\nHost: ' + authority + '\\r\\n\\r\\n').join(''));
  secured.pipe(process.stdout);
});
`;

describe('requests that are unlike those of others', () => {
  const raw = (...requests: string[]) =>
    output(
      `cat > /tmp/raw.cjs <<'EOF'\n${RAW}EOF\nPATH=$PATH:/opt/node/bin; node /tmp/raw.cjs ${api} ${requests.map(one => `'${one}'`).join(' ')} | tr -d '\\r'`,
    );

  it('get it in HTTP/1.0, whose answers have no chunks and end with the connection', async () => {
    await granted();
    const said = await raw('GET /v1/pieces HTTP/1.0');
    expect(said).toMatch(/^HTTP\/1\.[01] 200 OK\n.*\n\none two$/s);
    expect(said).not.toMatch(/transfer-encoding/i);
    expect(seen.map(({ url, authorization }) => [url, authorization])).toEqual([
      ['/v1/pieces', `Bearer ${SECRET}`],
    ]);
  });

  it('get it each where they come without waiting, and are answered in their order', async () => {
    await granted({ paths: ['/pieces', '/echo'] });
    const one = await raw(
      'GET /v1/pieces?1 HTTP/1.1',
      'HEAD /v1/pieces?2 HTTP/1.1',
      'GET /v1/pieces?3 HTTP/1.1',
      'GET /v1/others HTTP/1.1',
      'GET /v1/pieces?4 HTTP/1.1',
    );
    // The one that is refused ends the connection.
    expect(one.match(/^HTTP\/1\.1 \d+/gm)).toEqual(
      ['200', '200', '200', '403'].map(code => `HTTP/1.1 ${code}`),
    );
    expect(seen.map(({ url }) => url)).toEqual(['/v1/pieces?1', '/v1/pieces?2', '/v1/pieces?3']);
    expect(seen.every(({ authorization }) => authorization === `Bearer ${SECRET}`)).toBe(true);
    seen = [];
    const two = await raw('GET /v1/pieces?1 HTTP/1.1', 'GET /v1/echo HTTP/1.1', 'GET /v1/pieces?2 HTTP/1.1');
    expect(two.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 502']);
    expect(two).not.toContain(SECRET);
    expect(seen.map(({ url }) => url)).toEqual(['/v1/pieces?1', '/v1/echo']);
  });

  it('may be large, and next to nothing of it is held', async () => {
    await granted();
    mostHeld = 0;
    const before = buffersInUse();
    const bytes = 256 * 1024 ** 2;
    const said = await output(
      `head -c ${bytes} /dev/zero | curl -sS -X POST -H 'content-type: application/octet-stream' -H 'expect:' -T - https://${api}/v1/upload`,
    );
    expect(said.split('\n')[0]).toBe(`got ${bytes}`);
    expect(seen.at(-1)?.authorization).toBe(`Bearer ${SECRET}`);
    expect(mostHeld).toBeGreaterThan(0);
    expect(mostHeld - before).toBeLessThan(128 * 1024 * 1024);
  });
});

describe('who gets a credential', () => {
  it("is whoever may use connections in the workspace: the organization's, and their own", async () => {
    await granted();
    expect(await output(ask(), bob)).toBe('welcome curl');
    expect(seen.at(-1)?.authorization).toBe(`Bearer ${SECRET}`);
    expect(
      (await vera.client.post(`/api/workspaces/${workspace}/tools/bash`, { input: { command: ask() } }))
        .status,
    ).toBe(403);
    expect(await output('echo [$FORGE_TOKEN]', ada, undefined, other)).toBe('[]');
    await service.database.query('delete from integration_connection');
    const hers = await connect(ada, { owner: 'user' }, HERS);
    await grant(hers);
    expect(await output(ask())).toBe('welcome curl');
    expect(seen.at(-1)?.authorization).toBe(`Bearer ${HERS}`);
    seen = [];
    expect(await output('echo [$FORGE_TOKEN]', bob)).toBe('[]');
    // His own is beside hers.
    const his = await connect(bob, { owner: 'user' }, SECRET);
    expect((await grant(his, undefined, bob)).status).toBe(200);
    await Promise.all([output(ask('ada')), output(ask('bob'), bob)]);
    expect(seen.map(({ url, authorization }) => `${url} ${authorization}`).toSorted()).toEqual([
      `/v1/ada Bearer ${HERS}`,
      `/v1/bob Bearer ${SECRET}`,
    ]);
  });

  it('is in no doubt: a second connection with the header and host of the first is refused', async () => {
    const first = await granted();
    const second = await connect(ada, { name: 'Second' });
    const { status, body } = await grant(second);
    expect([status, body.detail]).toEqual([
      409,
      expect.stringMatching(
        /^Forge is granted to the workspace .* and sends the header Authorization to 127.0.0.2/,
      ),
    ]);
    expect((await grant(second, [{ workspace_id: other }])).status).toBe(200);
    const own = await connect(bob, { owner: 'user' });
    expect((await grant(own, undefined, bob)).status).toBe(409);
    await grant(first, []);
    const both = await Promise.all([grant(first), grant(second)]);
    expect(both.map(answered => answered.status).toSorted()).toEqual([200, 409]);
    // Another address, typed later, is looked at, too.
    const generic = (header: string) => ({
      provider: 'api_key',
      name: 'Generic',
      owner: 'organization',
      fields: { base_url: `https://${api}/other`, header, prefix: '', api_key: 'key-of-another' },
    });
    const typed = await connect(ada, generic('X-Key'));
    expect((await grant(typed)).status).toBe(200);
    const changed = await ada.client.patch(`/api/integrations/${typed}`, {
      fields: { header: 'authorization' },
    });
    expect(changed.status).toBe(409);
  });
});

describe('what is over', () => {
  it('closes connections that are open, and lets no other through', async () => {
    const id = await granted();
    await output(ask(), ada, 'lasting');
    const open = output(`curl -sSN https://${api}/v1/forever 2>&1; echo ended`, ada, 'lasting');
    while (!seen.some(({ url }) => url === '/v1/forever'))
      await new Promise(resolve => setImmediate(resolve));
    expect((await grant(id, [])).status).toBe(200);
    expect(await open).toMatch(/^(begun|curl).*ended$/s);
    seen = [];
    expect(await output(`${ask()} 2>&1`, ada, 'lasting')).not.toContain('welcome');
    expect((await grant(id)).status).toBe(200);
    expect(await output(`until ${ask()} 2>/dev/null | grep welcome; do :; done`, ada, 'lasting')).toBe(
      'welcome curl',
    );
    await ada.client.delete(`/api/integrations/${id}`);
    expect(
      await output(`while ${ask()} 2>/dev/null | grep -q welcome; do :; done; echo over`, ada, 'lasting'),
    ).toMatch(/^over\n/);
  });

  it('is said where a person has to authorize again', async () => {
    const id = await connect(ada, {}, REVOKED);
    await grant(id);
    isRevoked = true;
    await output(ask());
    let state = 'active';
    while (state === 'active') state = (await ada.client.get(`/api/integrations/${id}`)).body.state;
    expect(state).toBe('needs_reauth');
    const count = seen.length;
    expect(await output(ask())).toMatch(/Forge cannot be used: This connection has to be authorized again/);
    expect(seen).toHaveLength(count);
    await ada.client.patch(`/api/integrations/${id}`, { fields: { api_key: SECRET } });
    expect(await output(ask())).toBe('welcome curl');
  });

  it('is a person who left the workspace, in a sandbox that still runs', async () => {
    const eve = await service.person('Eve');
    await service.join(eve, {
      organization: ada.organizationId,
      role: 'member',
      workspace,
      workspaceRole: 'editor',
    });
    await granted();
    const asking = output(
      `${ask('first')} > /dev/null; touch ready; until ${ask()} | grep 'cannot be used'; do :; done`,
      eve,
    );
    while (!seen.some(({ url }) => url === '/v1/first')) await new Promise(resolve => setImmediate(resolve));
    const gone = await ada.client.delete(`/api/workspaces/${workspace}/members/${eve.id}`);
    expect(gone.status).toBe(200);
    expect(await asking).toMatch(/cannot be used: No such workspace/);
  });
});

it('leaves nothing of a secret to an attacker inside, in the log, or in any table', async () => {
  await granted();
  const said = await output(
    [
      'exec 2>&1; ulimit -c unlimited',
      `${ask('echo')}; curl -sS -H 'authorization: mine' -H 'AUTHORIZATION: his' https://${api}/v1/echo`,
      `curl -sS -X TRACE https://${api}/v1/x; curl -sS --path-as-is https://${api}/v1/..%2fecho`,
      `curl -sSk --connect-to ${api}:${forge} https://${api}/v1/x; curl -sSk -H 'Host: ${forge}' https://${api}/v1/x`,
      `curl -sSk --noproxy '*' --max-time 2 https://${api}/v1/x; getent hosts frg.example`,
      'env; cat /proc/*/environ /proc/*/cmdline | tr "\\0" "\\n"; find / -xdev -name "core*" -type f -newer /etc/hostname | head',
      'find /run /tmp /etc /workspace /dev/shm -type f -size -2M -exec cat {} + | strings',
      'ls -la /run/egress; sh -c "kill -SEGV \\$\\$"',
    ].join('\n'),
  );
  expect(said).toContain('the server sent the credential back');
  const forms = [
    SECRET,
    Buffer.from(SECRET).toString('base64').replace(/=+$/, ''),
    basic(SECRET),
    'PRIVATE KEY',
  ];
  for (const form of forms) expect(said).not.toContain(form);
  expect(seen.filter(({ authorization }) => authorization && authorization !== `Bearer ${SECRET}`)).toEqual(
    [],
  );
  expect(seen.every(({ host }) => host === api)).toBe(true);
  const tables = await service.database.query(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  );
  for (const { name } of tables) {
    const rows = await service.database.query(
      `select 1 from "${name}" t where t::text like '%' || $1 || '%' limit 1`,
      [SECRET],
    );
    expect([name, rows]).toEqual([name, []]);
  }
  expect(logged).toContain('a request of a sandbox got a credential');
  for (const form of forms.slice(0, 3)) expect(logged).not.toContain(form);
});
