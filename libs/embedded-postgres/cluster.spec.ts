import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { accountFor } from './account.js';
import { findBinaries } from './binaries.js';
import { requireCluster } from './cluster.js';
import { EmbeddedPostgresError } from './index.js';
import { Ground } from './testing/ground.js';
import { OwnerProcess } from './testing/owner-process.js';
import { scratchFolder } from './testing/scratch.js';

const ground = new Ground();

beforeAll(() => ground.prepare());
afterEach(() => ground.clear());
afterAll(() => ground.remove());

describe('folders it cannot use', () => {
  it('refuses one made by another major version, and says what to do', async () => {
    const dataDir = ground.usedFolder();
    writeFileSync(path.join(dataDir, 'PG_VERSION'), '16\n');
    await expect(ground.start(dataDir)).rejects.toThrow(
      /made by PostgreSQL 16 and this is PostgreSQL 18: dump it/,
    );
  });

  it('refuses one that holds something else, and touches nothing in it', async () => {
    const dataDir = path.join(scratchFolder(), 'photos');
    mkdirSync(dataDir);
    writeFileSync(path.join(dataDir, 'cat.jpg'), '');
    await expect(ground.start(dataDir)).rejects.toThrow(/holds files but no PostgreSQL database/);
    expect(readdirSync(dataDir)).toEqual(['cat.jpg']);
  });

  it('says so when the folder may not be written', async () => {
    const owner = ground.keep(
      await OwnerProcess.start({ dataDir: '/not-writable/postgres' }, { asNobody: process.getuid?.() === 0 }),
    );
    expect(owner.report).toMatchObject({
      name: 'EmbeddedPostgresError',
      error: expect.stringMatching(/may not use \/not-writable\/postgres: make it writable/),
    });
  });

  it('says so when the disk is full, and leaves no half-made folder', async () => {
    const folder = scratchFolder();
    const binaries = { ...findBinaries(), initdb: path.join(folder, 'initdb') };
    const script = '#!/bin/sh\necho "initdb: error: could not write: No space left on device" >&2\nexit 1\n';
    writeFileSync(binaries.initdb, script, { mode: 0o755 });
    const dataDir = path.join(folder, 'postgres');
    await expect(requireCluster(binaries, accountFor(dataDir), dataDir, true)).rejects.toThrow(
      /disk .* is full/,
    );
    expect(readdirSync(folder)).toEqual(['initdb']);
  });

  it('clears away what a crash in the middle of the first start left', async () => {
    const dataDir = ground.usedFolder();
    mkdirSync(`${dataDir}.draft-1234/base`, { recursive: true });
    await ground.start(dataDir);
    expect(existsSync(`${dataDir}.draft-1234`)).toBe(false);
  });

  it('names a setting that PostgreSQL does not accept', async () => {
    const failure = ground.start(ground.usedFolder(), { settings: { work_mem: 'much' } });
    await expect(failure).rejects.toThrow(/could not start .*"work_mem"/);
    await expect(failure).rejects.toBeInstanceOf(EmbeddedPostgresError);
  });
});
