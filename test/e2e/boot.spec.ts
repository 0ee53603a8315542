import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Client } from '../harness/client.js';
import { TestDatabase } from '../harness/database.js';

/** The built service as a process of its own. */
class ServiceProcess {
  output = '';
  readonly exited: Promise<number | null>;

  constructor(readonly child: ChildProcess) {
    const collect = (chunk: Buffer) => {
      this.output += chunk;
      child.emit('output');
    };
    child.stdout?.on('data', collect);
    child.stderr?.on('data', collect);
    this.exited = once(child, 'exit').then(([code]) => code);
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

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'atelier-boot-'));
  chmodSync(made, 0o755);
  leftovers.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

async function freePort(): Promise<{ port: number; server: Server }> {
  const server = createServer().listen(0, '0.0.0.0');
  await once(server, 'listening');
  return { port: (server.address() as { port: number }).port, server };
}

async function unusedPort(): Promise<number> {
  const { port, server } = await freePort();
  server.close();
  await once(server, 'close');
  return port;
}

function start(environment: Record<string, string>): ServiceProcess {
  const { PATH = '', HOME = '' } = process.env;
  const env = { PATH, HOME, LOG_FORMAT: 'json', ...environment };
  const service = new ServiceProcess(
    spawn(process.execPath, ['dist/src/main.js'], { env, stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  leftovers.push(async () => {
    service.child.kill('SIGTERM');
    await service.exited;
  });
  return service;
}

describe('with the embedded database', () => {
  it('furnishes a first workspace, prints what to paste, and keeps everything over a restart', async () => {
    const DATA_DIR = folder();
    const PORT = String(await unusedPort());
    const first = start({ DATA_DIR, PORT });
    await first.says(/Atelier is ready at (\S+)/);
    const file = path.join(DATA_DIR, 'credentials.json');
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
    const { body } = await client.get(`/api/agent/status/${sent.body.call_id}?wait=30`);
    expect(body).toMatchObject({
      status: 'completed',
      result: { toolOutputs: [{ is_error: false }, { output: 'Hello' }] },
    });
    const reviewed = await client.post('/api/agent', { workspace_id, agent_name: 'reviewer' });
    expect(reviewed.status).toBe(200);

    first.child.kill('SIGTERM');
    expect(await first.exited).toBe(0);

    const second = start({ DATA_DIR, PORT });
    await second.says(/Atelier is ready/);
    const file2 = await client.raw('GET', `/api/workspaces/${workspace_id}/files/download?path=hello.txt`);
    expect(await file2.text()).toBe('Hello');
    expect((await client.get(`/api/chats`)).body.items).toHaveLength(2);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(credentials);
  });

  it('goes on after it was killed, also with the lock of a dead process', async () => {
    const DATA_DIR = folder();
    const PORT = String(await unusedPort());
    const first = start({ DATA_DIR, PORT });
    await first.says(/Atelier is ready/);
    first.child.kill('SIGKILL');
    await first.exited;
    const second = start({ DATA_DIR, PORT });
    await second.says(/Atelier is ready/);
  });

  it('says in one sentence that the folder is in use', async () => {
    const DATA_DIR = folder();
    const first = start({ DATA_DIR, PORT: String(await unusedPort()) });
    await first.says(/Atelier is ready/);
    const second = start({ DATA_DIR, PORT: String(await unusedPort()) });
    expect(await second.exited).toBe(1);
    expect(second.output).toMatch(/^\nAtelier cannot run: .+\.\n$/m);
    expect(second.output).not.toContain('    at ');
  });

  it('says in one sentence that the data is of another PostgreSQL version', async () => {
    const DATA_DIR = folder();
    const PORT = String(await unusedPort());
    const first = start({ DATA_DIR, PORT });
    await first.says(/Atelier is ready/);
    first.child.kill('SIGTERM');
    await first.exited;
    writeFileSync(path.join(DATA_DIR, 'postgres', 'PG_VERSION'), '99\n');
    const second = start({ DATA_DIR, PORT });
    expect(await second.exited).toBe(1);
    expect(second.output).toMatch(/^\nAtelier cannot run: .*99.*\.\n$/m);
  });
});

describe('with a database of the operator', () => {
  async function database(): Promise<TestDatabase> {
    const made = await TestDatabase.create();
    leftovers.push(() => made.drop());
    return made;
  }

  it('seeds nothing; the set-up token of the log makes the first account', async () => {
    const DATA_DIR = folder();
    const PORT = String(await unusedPort());
    const service = start({ DATABASE_URL: (await database()).url, DATA_DIR, PORT });
    await service.says(/Atelier is ready/);
    const [, setup_token] = await service.says(/setup_token is ([\w-]+)/);
    expect(existsSync(path.join(DATA_DIR, 'credentials.json'))).toBe(false);
    const anyone = new Client(`http://127.0.0.1:${PORT}`);
    const account = { email: 'ada@example.com', password: 'correct horse', name: 'Ada' };
    expect((await anyone.post('/api/auth/register', account)).status).toBe(403);
    expect((await anyone.post('/api/auth/register', { ...account, setup_token: 'wrong' })).status).toBe(403);
    const { body } = await anyone.post('/api/auth/register', { ...account, setup_token });
    expect(body.user).toMatchObject({ installation_owner: true });
    const second = { ...account, email: 'eve@example.com', setup_token };
    expect(await anyone.post('/api/auth/register', second)).toMatchObject({
      status: 403,
      body: { detail: 'Registration is by invitation' },
    });
  });

  it('says in one sentence that the port is in use', async () => {
    const { port, server } = await freePort();
    leftovers.push(() => server.close());
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

  it.each([
    [{ PORT: 'eighty' }, 'PORT must be a whole number from 0 to 65535, not "eighty".'],
    [{ ROLE: 'boss' }, 'ROLE must be one of all, api, worker, not "boss".'],
    [{ DATABASE_URL: 'postgresql://127.0.0.1:1/none' }, 'The database in DATABASE_URL cannot be used'],
  ])('names the setting that is wrong: %o', async (environment, sentence) => {
    const service = start({ DATA_DIR: folder(), PORT: '0', ...environment });
    expect(await service.exited).toBe(1);
    expect(service.output).toContain(sentence);
  });
});
