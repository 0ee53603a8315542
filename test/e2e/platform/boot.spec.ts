import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { AgentClient } from '../../harness/agent.js';
import { Client } from '../../harness/client.js';
import { baseEnvironment, SERVICE } from '../../harness/command.js';
import { TestDatabase } from '../../harness/database.js';
import { freePort } from '../../harness/free-port.js';
import { parseMetrics, sumOf } from '../../harness/prometheus.js';
import { Visitor } from '../../harness/visitor.js';

/** The built service as a process of its own. */
class ServiceProcess {
  output = '';
  /** Of the exit code, once all that it said was read. */
  readonly exited: Promise<number | null>;

  constructor(readonly child: ChildProcess) {
    const collect = (chunk: Buffer) => {
      this.output += chunk;
      child.emit('output');
    };
    child.stdout?.on('data', collect);
    child.stderr?.on('data', collect);
    this.exited = once(child, 'close').then(([code]) => code);
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  stop(): Promise<number | null> {
    if (this.isRunning) this.child.kill('SIGTERM');
    return this.exited;
  }

  /** Waits until the process has said something that matches. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.output);
      if (match) return match;
      const ended = await Promise.race([
        once(this.child, 'output').then(() => false),
        this.exited.then(() => true),
      ]);
      if (ended && !pattern.test(this.output))
        throw new Error(`it ended without saying ${pattern}:\n${this.output}`);
    }
  }
}

const leftovers: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const clean of leftovers.splice(0).reverse()) await clean();
});

function newFolder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'atelier-boot-'));
  chmodSync(made, 0o755);
  return made;
}

/** Until the end of the test. */
function folder(): string {
  const made = newFolder();
  leftovers.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

function launch(environment: Record<string, string>, flags: string[] = []): ServiceProcess {
  const env = { ...baseEnvironment(), LOG_FORMAT: 'json', ...environment };
  const child = spawn(process.execPath, [...flags, SERVICE], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  return new ServiceProcess(child);
}

/** Until the end of the test. */
function start(environment: Record<string, string>, flags: string[] = []): ServiceProcess {
  const service = launch(environment, flags);
  leftovers.push(() => service.stop());
  return service;
}

/** An installation for all tests that need no new one; who stops it leaves it stopped. */
class Standing {
  readonly dataDir = newFolder();
  private settings: Record<string, string> | undefined;
  private service: ServiceProcess | undefined;

  constructor(private readonly more: () => Promise<Record<string, string>> = async () => ({})) {}

  async environment(): Promise<Record<string, string> & { PORT: string }> {
    this.settings ??= { DATA_DIR: this.dataDir, PORT: `${await freePort()}`, ...(await this.more()) };
    return this.settings as Record<string, string> & { PORT: string };
  }

  /** Its process, which is started where none runs. */
  async running(): Promise<ServiceProcess> {
    if (this.service?.isRunning) return this.service;
    this.service = launch(await this.environment());
    await this.service.says(/Atelier is ready/);
    return this.service;
  }

  async stop(): Promise<number | null | undefined> {
    return this.service?.stop();
  }

  async end(): Promise<void> {
    await this.stop();
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}

/** One thing that the operator wants done, with `input` on standard input; its exit code and what it said. */
async function operate(environment: Record<string, string>, words: string[], input = '') {
  const env = { ...baseEnvironment(), ...environment };
  const command = new ServiceProcess(spawn(process.execPath, [SERVICE, ...words], { env }));
  command.child.stdin?.end(input);
  return { code: await command.exited, said: command.output };
}

/** What README.md says to paste below a heading. */
function pasted(heading: string): string {
  const [, section = ''] = readFileSync('README.md', 'utf8').split(`\n## ${heading}\n`);
  const [, commands = ''] = /^```sh\n(.*?)^```/ms.exec(section) ?? [];
  if (commands === '') throw new Error(`README.md has no commands below "${heading}"`);
  return commands;
}

async function signsIn(port: number, email: string, password: string): Promise<boolean> {
  const client = new Client(`http://127.0.0.1:${port}`);
  return (await client.post('/api/auth/login', { email, password })).status === 200;
}

describe('with the embedded database', () => {
  const standing = new Standing();
  afterAll(() => standing.end());

  it('furnishes a first workspace, prints what to paste, and keeps everything over a restart', async () => {
    const first = await standing.running();
    const { PORT } = await standing.environment();
    const file = path.join(standing.dataDir, 'credentials.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const credentials = JSON.parse(readFileSync(file, 'utf8'));
    expect(Object.keys(credentials).sort()).toEqual([
      'api_key',
      'base_url',
      'email',
      'organization_id',
      'password',
      'workspace_id',
    ]);
    expect(first.output).not.toContain(credentials.api_key);
    expect(first.output).not.toContain(credentials.password);

    const client = new Client(`http://127.0.0.1:${PORT}`, { 'x-api-key': credentials.api_key });
    const { workspace_id } = credentials;
    const sent = await client.post('/api/agent/message', {
      workspace_id,
      message: 'write hello.txt: Hello\nrun cat hello.txt',
    });
    expect(await new AgentClient(client).ended(sent.body)).toMatchObject({
      status: 'completed',
      result: { toolOutputs: [{ is_error: false }, { output: 'Hello' }] },
    });
    const reviewed = await client.post('/api/agent', { workspace_id, agent_name: 'reviewer' });
    expect(reviewed.status).toBe(200);

    expect(await standing.stop()).toBe(0);
    expect(await standing.running()).not.toBe(first);
    const file2 = await client.raw('GET', `/api/workspaces/${workspace_id}/files/download?path=hello.txt`);
    expect(await file2.text()).toBe('Hello');
    expect((await client.get(`/api/chats`)).body.items).toHaveLength(2);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(credentials);
  });

  it('publishes the sample site by what README.md says to paste', async () => {
    await standing.running();
    const { PORT } = await standing.environment();
    const credentials = JSON.parse(readFileSync(path.join(standing.dataDir, 'credentials.json'), 'utf8'));
    const [opening = ''] = pasted('Your first agent run').split('\n\n');
    const commands = `${opening}\n${pasted('Your first site')}`
      .replaceAll('localhost:3000', `127.0.0.1:${PORT}`)
      .replaceAll('.atelier/', `${standing.dataDir}/`);
    const { stdout } = await promisify(execFile)('sh', ['-c', commands]);
    const version = JSON.parse(stdout);
    expect(version).toMatchObject({ number: 1, auto_promote: true, promotion: { will: true } });

    const client = new Client(`http://127.0.0.1:${PORT}`, { 'x-api-key': credentials.api_key });
    const at = `/api/sites/${version.site_id}`;
    let built = version;
    while (['queued', 'building'].includes(built.state))
      ({ body: built } = await client.get(`${at}/versions/${version.id}?wait=60`));
    expect([built.state, built.error, built.findings]).toEqual(['live', null, []]);
    const { visit } = new Visitor(`http://127.0.0.1:${PORT}`);
    const host = `hello.sites.localhost:${PORT}`;
    const asked = await visit('/', { host, headers: { accept: 'text/html' } });
    expect([asked.status, asked.headers.location]).toEqual([302, expect.stringContaining('/hosting/enter')]);
    await client.put(`/api/site-access/${version.site_id}`, { mode: 'public' });
    expect((await visit('/', { host })).text).toContain('<h1>Hello</h1>');
  });

  it('sets a lost password and moves an account, while the service runs and while it does not', async () => {
    await standing.running();
    const environment = await standing.environment();
    const port = Number(environment.PORT);
    const { email, password } = JSON.parse(
      readFileSync(path.join(standing.dataDir, 'credentials.json'), 'utf8'),
    );
    const client = new Client(`http://127.0.0.1:${port}`);
    const { body } = await client.post('/api/auth/login', { email, password });
    const session = client.with({ authorization: `Bearer ${body.access_token}` });
    const running = await operate(environment, ['set-password', email], 'another password\n');
    expect(running).toEqual({
      code: 0,
      said: expect.stringMatching(/is set; \d+ of its sessions were ended/),
    });
    expect((await session.get('/api/auth/me')).status).toBe(401);
    expect(await signsIn(port, email, password)).toBe(false);
    expect(await signsIn(port, email, 'another password')).toBe(true);
    expect((await operate(environment, ['set-email', email, 'me@example.com'])).code).toBe(0);
    expect(await signsIn(port, 'me@example.com', 'another password')).toBe(true);
    for (const [words, input, said] of [
      [['set-password', 'nobody@example.com'], 'the third password', 'No account has the address'],
      [['set-password', 'me@example.com'], 'short', 'must have 8 to 256 characters'],
      [['set-password', 'me@example.com'], '', 'no password on standard input'],
      [['set-email', 'me@example.com', 'no address'], '', 'is no e-mail address'],
      [['set-pasword', 'me@example.com'], '', 'There is no such command'],
    ] as [string[], string, string][])
      expect(await operate(environment, words, input)).toEqual({
        code: 1,
        said: expect.stringContaining(said),
      });

    await standing.stop();
    const stopped = await operate(environment, ['set-password', 'me@example.com'], 'the third password\n');
    expect(stopped.code).toBe(0);
    await standing.running();
    expect(await signsIn(port, 'me@example.com', 'the third password')).toBe(true);
  });

  it('goes on after it was killed, also with the lock of a dead process', async () => {
    const first = await standing.running();
    first.child.kill('SIGKILL');
    await first.exited;
    expect(await standing.running()).not.toBe(first);
  });

  it.each([
    ['a full volume', ['ignore', 'full', 'full'] as const],
    ['a pipe without a reader', ['ignore', 'pipe', 'pipe'] as const],
  ])('starts, works and ends with a log that goes to %s', async (_, stdio) => {
    await standing.stop();
    const environment = { ...(await standing.environment()), LOG_FORMAT: 'json', LOG_LEVEL: 'debug' };
    const full = openSync('/dev/full', 'w');
    leftovers.push(() => closeSync(full));
    const child = spawn(process.execPath, [SERVICE], {
      env: { ...baseEnvironment(), ...environment },
      stdio: stdio.map(one => (one === 'full' ? full : one)),
    });
    child.stdout?.destroy();
    child.stderr?.destroy();
    const service = new ServiceProcess(child);
    leftovers.push(() => service.stop());
    const client = new Client(`http://127.0.0.1:${environment.PORT}`);
    const isReady = () =>
      client.get('/api/health/ready').then(
        ({ status }) => status === 200,
        () => false,
      );
    while (service.isRunning && !(await isReady())) await new Promise(done => setTimeout(done, 50));
    const { api_key } = JSON.parse(readFileSync(path.join(standing.dataDir, 'credentials.json'), 'utf8'));
    expect((await client.with({ 'x-api-key': api_key }).get('/api/workspaces')).status).toBe(200);
    const metrics = parseMetrics(await (await client.raw('GET', '/metrics')).text());
    expect(sumOf(metrics, 'atelier_log_lines_lost_total')).toBeGreaterThan(0);
    expect(await service.stop()).toBe(0);
  });

  it('says in one sentence that the folder is in use', async () => {
    await standing.running();
    const second = start({ ...(await standing.environment()), PORT: String(await freePort()) });
    expect(await second.exited).toBe(1);
    expect(second.output).toMatch(/^\nAtelier cannot run: .+\.\n$/m);
    expect(second.output).not.toContain('    at ');
  });

  it('starts in a folder that keeps other users out, and says what cannot be done there', async () => {
    const { dataDir } = standing;
    await standing.running();
    await standing.stop();
    chmodSync(dataDir, 0o700);
    leftovers.push(() => chmodSync(dataDir, 0o755));
    const service = await standing.running();
    const { PORT } = await standing.environment();
    const { api_key, workspace_id } = JSON.parse(
      readFileSync(path.join(dataDir, 'credentials.json'), 'utf8'),
    );
    const client = new Client(`http://127.0.0.1:${PORT}`, { 'x-api-key': api_key });
    const files = `/api/workspaces/${workspace_id}/files`;
    for (const content of ['one', 'two'])
      expect(await client.put(`${files}/content`, { path: 'a.txt', content })).toMatchObject({ status: 200 });
    // Only where commands have users of their own.
    if (process.getuid?.() !== 0) return;
    const advice = `run "chmod o+x '${dataDir}'"`;
    await service.says(/keeps other users out/);
    expect(service.output.replaceAll('\\"', '"')).toContain(
      `commands and the history of files need a way to DATA_DIR, and ${dataDir} keeps other users out: ${advice}`,
    );
    expect(service.output).not.toContain('    at ');
    expect(await client.get(`${files}/history?path=a.txt`)).toMatchObject({
      status: 503,
      body: { detail: expect.stringContaining(advice) },
    });
    const command = await client.post(`/api/workspaces/${workspace_id}/tools/bash`, {
      input: { command: 'true' },
    });
    expect(JSON.stringify(command.body).replaceAll('\\"', '"')).toContain(advice);

    chmodSync(dataDir, 0o711);
    const again = await client.post(`/api/workspaces/${workspace_id}/tools/bash`, {
      input: { command: 'echo works' },
    });
    expect(JSON.stringify(again.body)).toContain('works');
  });

  it('says in one sentence that the data is of another PostgreSQL version', async () => {
    await standing.running();
    await standing.stop();
    const version = path.join(standing.dataDir, 'postgres', 'PG_VERSION');
    const own = readFileSync(version);
    leftovers.push(() => writeFileSync(version, own));
    writeFileSync(version, '99\n');
    const second = start(await standing.environment());
    expect(await second.exited).toBe(1);
    expect(second.output).toMatch(/^\nAtelier cannot run: .*99.*\.\n$/m);
  });
});

describe('with a database of the operator', () => {
  async function emptyDatabase(): Promise<TestDatabase> {
    const made = await TestDatabase.createEmpty();
    leftovers.push(() => made.drop());
    return made;
  }

  async function database(): Promise<TestDatabase> {
    const made = await TestDatabase.create();
    leftovers.push(() => made.drop());
    return made;
  }

  let own: TestDatabase | undefined;
  const faulty = 'process.on("SIGUSR2",()=>void Promise.reject(new Error("unheard of")))';
  const standing = new Standing(async () => {
    own = await TestDatabase.create();
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(faulty)}`;
    return { DATABASE_URL: own.url, REGISTATION: 'closed', NODE_OPTIONS };
  });
  afterAll(async () => {
    await standing.end();
    await own?.drop();
  });

  it('seeds nothing; the set-up token of the log makes the first account', async () => {
    const service = await standing.running();
    const { PORT } = await standing.environment();
    const [, setup_token] = await service.says(/setup_token is ([\w-]+)/);
    expect(existsSync(path.join(standing.dataDir, 'credentials.json'))).toBe(false);
    const anyone = new Client(`http://127.0.0.1:${PORT}`);
    const account = { email: 'ada@example.com', password: 'correct horse', name: 'Ada' };
    expect((await anyone.post('/api/auth/register', account)).status).toBe(403);
    expect((await anyone.post('/api/auth/register', { ...account, setup_token: 'wrong' })).status).toBe(403);
    const { body } = await anyone.post('/api/auth/register', { ...account, setup_token });
    expect(body.user).toMatchObject({ installation_owner: true });
    const second = { ...account, email: 'eve@example.com', setup_token };
    expect(await anyone.post('/api/auth/register', second)).toMatchObject({
      status: 403,
      body: { detail: expect.stringMatching(/^Registration is by invitation: open the link/) },
    });
  });

  it('logs one set-up token, whichever of several processes starts first', async () => {
    const DATABASE_URL = (await emptyDatabase()).url;
    const ports = [await freePort(), await freePort(), await freePort()];
    const DATA_DIR = folder();
    const services = ports.map(port => start({ DATABASE_URL, DATA_DIR, PORT: `${port}`, ROLE: 'api' }));
    await Promise.all(services.map(service => service.says(/Atelier is ready/)));
    const tokens = await Promise.all(services.map(service => service.says(/setup_token is ([\w-]+)/)));
    expect(new Set(tokens.map(([, token]) => token)).size).toBe(1);
    const account = { email: 'ada@example.com', password: 'correct horse', name: 'Ada' };
    const owners = await Promise.all(
      ports.map((port, n) =>
        new Client(`http://127.0.0.1:${port}`).post('/api/auth/register', {
          ...account,
          email: `person${n}@example.com`,
          setup_token: tokens[n]?.[1],
        }),
      ),
    );
    expect(owners.map(({ status }) => status).sort()).toEqual([200, 403, 403]);
  });

  it('says so when a variable looks like a mistyped setting', async () => {
    const service = await standing.running();
    await service.says(/REGISTATION is not a setting and has no effect; did you mean REGISTRATION\?/);
  });

  it('says so when a line of the file .env sets nothing', async () => {
    const file = path.join(folder(), '.env');
    writeFileSync(
      file,
      'SITE_MAX_BYTES=1\nREGISTATION=open\nDATABASE_URL=postgresql://ada@127.0.0.1:1/none\n',
    );
    const service = start({ DATA_DIR: folder(), PORT: `${await freePort()}` }, [`--env-file=${file}`]);
    await service.says(
      /SITE_MAX_BYTES in \S+\.env is not a setting of Atelier; docs\/settings\.md lists all/,
    );
    await service.says(/REGISTATION is not a setting and has no effect/);
    expect(service.output).not.toContain('REGISTATION in');
  });

  it('says in one sentence that an unexpected fault ends it, and takes what it has with it', async () => {
    const service = await standing.running();
    service.child.kill('SIGUSR2');
    expect(await service.exited).toBe(1);
    expect(service.output).toMatch(/"level":"error".*unheard of.*an unexpected fault ends this process/);
    expect(service.output).toContain('Atelier ended: an unexpected fault, which is in the log.');
  });

  it('says in one sentence that the port is in use', async () => {
    const port = await freePort();
    const server = createServer().listen(port, '0.0.0.0');
    leftovers.push(() => server.close());
    await once(server, 'listening');
    const service = start({ DATABASE_URL: (await database()).url, DATA_DIR: folder(), PORT: String(port) });
    expect(await service.exited).toBe(1);
    expect(service.output).toContain(
      `Atelier cannot run: Port ${port} is in use; stop what listens there, or set PORT to another.`,
    );
  });

  it('refuses a database that a newer version made', async () => {
    const newer = await database();
    await newer.query(`insert into migration (name, executed_at) values ('29990101-later', now())`);
    const service = start({ DATABASE_URL: newer.url, DATA_DIR: folder(), PORT: '0' });
    expect(await service.exited).toBe(1);
    expect(service.output).toContain('made by a newer version of Atelier');
  });

  it('refuses a database that a pre-release made', async () => {
    const older = await database();
    await older.query(`delete from migration`);
    await older.query(`insert into migration (name, executed_at) values ('20261121-first', now())`);
    const service = start({ DATABASE_URL: older.url, DATA_DIR: folder(), PORT: '0' });
    expect(await service.exited).toBe(1);
    expect(service.output).toContain(
      'Atelier cannot run: The database was made by a pre-release of Atelier, which this version cannot read; ' +
        'start with an empty DATA_DIR, or with an empty database in DATABASE_URL.',
    );
  });

  it.each([
    [{ PORT: 'eighty' }, 'PORT must be a whole number from 0 to 65535, not "eighty".'],
    [{ ROLE: 'boss' }, 'ROLE must be one of all, api, worker, gateway, not "boss".'],
    [{ DATABASE_URL: 'postgresql://127.0.0.1:1/none' }, 'The database in DATABASE_URL cannot be used'],
    [{ DATABASE_URL: 'mysql://127.0.0.1/none' }, 'DATABASE_URL must be an address such as postgresql://'],
    [{ PUBLIC_URL: 'foo' }, 'PUBLIC_URL must be the address of the service without a path, such as https://'],
    [{ PUBLIC_URL: 'https://example.com/atelier' }, 'PUBLIC_URL must be the address of the service without'],
    [{ HOST: '999.1.1.1' }, 'HOST must be an address of this machine'],
    [{ REDIS_URL: 'redis://127.0.0.1:1' }, 'The Redis in REDIS_URL cannot be used: connect ECONNREFUSED'],
    [{ REDIS_URL: 'localhost:6379' }, 'REDIS_URL must be an address such as redis://host:6379.'],
    [{ DATA_DIR: '/dev/null' }, 'The folder of DATA_DIR, /dev/null, cannot be written (it is a file).'],
    [{ DATA_DIR: '/dev/null/data' }, 'The folder of DATA_DIR, /dev/null/data, cannot be written'],
    [{ DATA_DIR: '/proc/none' }, 'The folder of DATA_DIR, /proc/none, cannot be written'],
  ])('names the setting that is wrong: %o', async (environment, sentence) => {
    const service = start({ DATA_DIR: folder(), PORT: '0', ...environment });
    expect(await service.exited).toBe(1);
    expect(service.output).toContain(`Atelier cannot run: ${sentence}`);
    expect(service.output).not.toContain('    at ');
  });

  it.each([
    [{ HOST: '192.0.2.1' }, 'HOST is 192.0.2.1, which is no address of this machine'],
    [{ HOST: 'no-such-host.invalid' }, 'HOST is no-such-host.invalid, which is no address of this machine'],
    [{ OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:1/v1' }, 'OPENAI_COMPATIBLE_BASE_URL needs'],
    [{ OPENAI_COMPATIBLE_MODELS: 'llama' }, 'OPENAI_COMPATIBLE_MODELS needs OPENAI_COMPATIBLE_BASE_URL'],
  ])(
    'names the setting that is wrong, also when the database is there: %o',
    async (environment, sentence) => {
      const { url } = await database();
      const service = start({ DATABASE_URL: url, DATA_DIR: folder(), PORT: '0', ...environment });
      expect(await service.exited).toBe(1);
      expect(service.output).toContain('Atelier cannot run: ');
      expect(service.output).toContain(sentence);
      expect(service.output).not.toContain('    at ');
    },
  );
});
