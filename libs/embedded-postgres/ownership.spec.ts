import { chmodSync, chownSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { ask, Ground } from './testing/ground.js';
import { nobodyUid, OwnerProcess } from './testing/owner-process.js';
import { scratchFolder } from './testing/scratch.js';

const ground = new Ground();

beforeAll(() => ground.prepare());
afterEach(() => ground.clear());
afterAll(() => ground.remove());

describe('owners that die', () => {
  it('ends with an owner that is killed, and starts again with everything committed', async () => {
    const dataDir = ground.usedFolder();
    const owner = await OwnerProcess.start({ dataDir, durable: true });
    await ask(owner.report.connection, 'create table note (text text); insert into note values ($$kept$$)');
    const watcher = new pg.Client(owner.report.connection);
    await watcher.connect();
    watcher.on('error', () => undefined); // the drop, awaited as the end of the connection
    const dropped = new Promise<void>(resolve => watcher.once('end', resolve));
    await owner.kill();
    await dropped;
    const again = await ground.start(dataDir);
    expect(await ask(again.connection, 'select text from note')).toEqual([{ text: 'kept' }]);
  });

  it('starts at once after a killed owner, without waiting for its PostgreSQL to end', async () => {
    const dataDir = ground.usedFolder();
    for (let round = 0; round < 3; round++) await (await OwnerProcess.start({ dataDir })).kill();
    const again = await ground.start(dataDir);
    expect(await ask(again.connection, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('stops a PostgreSQL that outlived its owner, where nothing ties the two together', async () => {
    const dataDir = ground.usedFolder();
    const owner = await OwnerProcess.start({ dataDir }, { withoutSetpriv: true });
    await owner.kill();
    expect(await ask(owner.report.connection, 'select 1 as one')).toEqual([{ one: 1 }]);
    const again = await ground.start(dataDir);
    expect(again.pid).not.toBe(owner.report.pid);
    expect(await ask(again.connection, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('recovers after PostgreSQL itself was killed', async () => {
    const dataDir = ground.usedFolder();
    const first = await ground.start(dataDir);
    process.kill(first.pid, 'SIGKILL');
    expect(await first.exited).toMatchObject({ expected: false, signal: 'SIGKILL' });
    expect(await ask((await ground.start(dataDir)).connection, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('starts past a pid file whose number belongs to a stranger', async () => {
    const dataDir = ground.usedFolder();
    await (await ground.start(dataDir)).stop();
    writeFileSync(path.join(dataDir, 'postmaster.pid'), `${process.pid}\n${dataDir}\n`);
    expect(await ask((await ground.start(dataDir)).connection, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('is refused while another live process owns the folder, and welcome afterwards', async () => {
    const dataDir = ground.usedFolder();
    const owner = await OwnerProcess.start({ dataDir });
    await expect(ground.start(dataDir)).rejects.toThrow(
      /is in use by the running process \d+: stop that process/,
    );
    await owner.stop();
    expect(await ask((await ground.start(dataDir)).connection, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('lets exactly one of several that start together have the folder', async () => {
    const dataDir = ground.usedFolder();
    await (await OwnerProcess.start({ dataDir })).kill();
    const owners = await Promise.all([1, 2, 3].map(() => OwnerProcess.start({ dataDir })));
    owners.map(owner => ground.keep(owner));
    expect(owners.filter(owner => owner.report.error === undefined)).toHaveLength(1);
  });
});

const accounts = process.getuid?.() === 0 ? [{ asNobody: true }, { asNobody: false }] : [{ asNobody: false }];

describe.each(accounts)('under its account (%o)', ({ asNobody }) => {
  it('makes its folder and runs without the rights of root', async () => {
    const folder = scratchFolder();
    if (asNobody) chownSync(folder, nobodyUid(), -1);
    const dataDir = path.join(folder, 'postgres');
    const owner = ground.keep(await OwnerProcess.start({ dataDir }, { asNobody }));
    expect(owner.report.error).toBeUndefined();
    expect(statSync(dataDir).uid).not.toBe(0);
    expect(statSync(`/proc/${owner.report.pid}`).uid).toBe(statSync(dataDir).uid);
  });

  it('runs below a folder that is closed to other accounts', async () => {
    const folder = scratchFolder();
    chmodSync(folder, 0o700);
    if (asNobody) chownSync(folder, nobodyUid(), -1);
    const dataDir = path.join(folder, 'postgres');
    const owner = ground.keep(await OwnerProcess.start({ dataDir }, { asNobody }));
    expect(owner.report.error).toBeUndefined();
  });
});
