import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { PoolBusy, TookTooLong, WorkerPool } from './index.js';

const LONG_MS = 200_000;

let folder: string;
let pool: WorkerPool;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'atelier-pool-'));
  writeFileSync(
    path.join(folder, 'work.mjs'),
    `export const double = value => value * 2;
     export const spin = () => { for (;;); };
     export const fail = text => { throw new TypeError(text); };
     export const grow = () => { const all = []; for (;;) all.push(new Array(100_000).fill({})); };
     export const later = ms => new Promise(resolve => setTimeout(resolve, ms, ms));`,
  );
  pool = new WorkerPool({ size: 1, maxWaiting: 1, waitMs: LONG_MS, memoryMb: 32 });
});
afterEach(async () => {
  await pool.close();
  rmSync(folder, { recursive: true });
});

const run = (name: string, input?: unknown, ms = LONG_MS, waitMs?: number) =>
  pool.run({ module: pathToFileURL(path.join(folder, 'work.mjs')).href, name }, input, ms, waitMs);

it('gives the result of a call, or says what it threw', async () => {
  expect(await run('double', 21)).toBe(42);
  await expect(run('fail', 'no such thing')).rejects.toThrow('no such thing');
  await expect(run('absent')).rejects.toThrow('work is not a function');
  expect(await run('double', 4)).toBe(8);
});

it('ends a call that takes too long, and what comes next is done', async () => {
  await expect(run('spin', null, 50)).rejects.toThrow(TookTooLong);
  expect(await run('double', 1)).toBe(2);
});

it('survives a call that takes too much memory', async () => {
  await expect(run('grow')).rejects.toThrow(/memory/);
  expect(await run('double', 1)).toBe(2);
});

it('does one call after the other, and refuses more than may wait', async () => {
  const first = run('later', 100);
  const second = run('double', 2);
  await expect(run('double', 3)).rejects.toThrow(PoolBusy);
  expect(await Promise.all([first, second])).toEqual([100, 4]);
});

it('refuses calls when it is closed', async () => {
  await pool.close();
  await expect(run('double', 3)).rejects.toThrow(PoolBusy);
});

it('has a call that says how long wait, however many do', async () => {
  const calls = [run('later', 100), run('double', 2), run('double', 3, LONG_MS, LONG_MS)];
  expect(await Promise.all(calls)).toEqual([100, 4, 6]);
  const first = run('later', 2000);
  await expect(run('double', 4, LONG_MS, 20)).rejects.toThrow(PoolBusy);
  expect(await first).toBe(2000);
});
