import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { ask, Ground } from './testing/ground.js';
import { scratchFolder } from './testing/scratch.js';

const ground = new Ground();

beforeAll(() => ground.prepare());
afterEach(() => ground.clear());
afterAll(() => ground.remove());

describe('a PostgreSQL of one process', () => {
  it('keeps what was written from one start to the next', async () => {
    const dataDir = path.join(scratchFolder(), 'postgres');
    const first = await ground.start(dataDir, { durable: true });
    await ask(first.connection, 'create table note (text text); insert into note values ($$kept$$)');
    await first.stop();
    const second = await ground.start(dataDir, { durable: true });
    expect(await ask(second.url, 'select text from note')).toEqual([{ text: 'kept' }]);
  });

  it('gives the application a role that owns its database, makes others and has no further powers', async () => {
    const { connection } = await ground.start(ground.usedFolder());
    await ask(connection, 'create database other template app');
    await ask(connection, 'create schema queue');
    expect(await ask(connection, 'select rolsuper from pg_roles where rolname = current_user')).toEqual([
      { rolsuper: false },
    ]);
    await expect(ask(connection, "copy (select 1) to program 'id'")).rejects.toThrow(/permission denied/);
  });

  it('is reachable through one folder that is closed to others, and not over the network', async () => {
    const { connection } = await ground.start(ground.usedFolder());
    expect(statSync(connection.host).mode & 0o777).toBe(0o700);
    expect(await ask(connection, 'show listen_addresses')).toEqual([{ listen_addresses: '' }]);
  });

  it('folds and orders text by UTF-8 rules that do not depend on the machine', async () => {
    const { connection } = await ground.start(ground.usedFolder());
    const sql =
      "select lower('ÉCOLE') as lower, array(select unnest(array['é', 'z', 'B']) order by 1) as ordered";
    expect(await ask(connection, sql)).toEqual([{ lower: 'école', ordered: ['B', 'z', 'é'] }]);
  });

  it('takes settings, and hands over its log line by line', async () => {
    const lines: string[] = [];
    const settings = { work_mem: '3MB', log_min_duration_statement: '0' };
    const { connection } = await ground.start(ground.usedFolder(), {
      settings,
      log: (line: string) => lines.push(line),
    });
    expect(await ask(connection, 'show work_mem')).toEqual([{ work_mem: '3MB' }]);
    expect(lines).toContainEqual(expect.stringContaining('ready to accept connections'));
  });

  it('puts its socket elsewhere when the path would be too long, and takes it away again', async () => {
    const deep = path.join(
      scratchFolder(),
      'a folder with a long name, commas and "quotes" '.repeat(3),
      'postgres',
    );
    const postgres = await ground.start(deep);
    expect(postgres.connection.host.startsWith(path.dirname(deep))).toBe(false);
    expect(await ask(postgres.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await postgres.stop();
    expect(existsSync(postgres.connection.host)).toBe(false);
  });

  it('works in a folder whose name needs quoting', async () => {
    const postgres = await ground.start(ground.usedFolder(path.join(scratchFolder(), 'é, "q" %41 ü')));
    expect(await ask(postgres.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('reports an end that nobody asked for', async () => {
    const postgres = await ground.start(ground.usedFolder());
    process.kill(postgres.pid, 'SIGQUIT');
    expect(await postgres.exited).toMatchObject({ expected: false });
  });

  it('may be stopped twice, and leaves neither lock nor draft', async () => {
    const dataDir = ground.usedFolder();
    const postgres = await ground.start(dataDir);
    await Promise.all([postgres.stop(), postgres.stop()]);
    await postgres.stop();
    expect(await postgres.exited).toMatchObject({ expected: true, code: 0 });
    expect(readdirSync(path.dirname(dataDir)).sort()).toEqual(['postgres', 'run']);
  });
});
