import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Config } from '../../platform/config/index.js';
import type { Log } from '../../platform/log/index.js';
import { ModuleCache } from './module-cache.js';

const KEY = 'a'.repeat(64);
const DAY_MS = 24 * 60 * 60 * 1000;

let dataDir: string;
let cache: ModuleCache;
beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), 'module-cache-'));
  const log = { warn: () => undefined, debug: () => undefined } as unknown as Log;
  cache = new ModuleCache({ dataDir } as Config, log);
});
afterEach(() => rmSync(dataDir, { recursive: true }));

/** A project with dependencies in these folders. */
function project(name: string, parts: string[] = [], text = name): string {
  const folder = path.join(dataDir, 'builds', name);
  mkdirSync(folder, { recursive: true });
  for (const part of parts) {
    mkdirSync(path.join(folder, part, 'node_modules'), { recursive: true });
    writeFileSync(path.join(folder, part, 'node_modules', 'what'), `${text} ${part}`);
  }
  return folder;
}
const keep = (folder: string, { key = KEY, site = 'site', bytes = 1000, folders = [''] } = {}) =>
  cache.keep(site, key, { folder, folders, bytes });
const kept = (site = 'site') => readdirSync(path.join(dataDir, 'build-cache', site));
const what = (folder: string, part = '') =>
  readFileSync(path.join(folder, part, 'node_modules/what'), 'utf8');

describe('dependencies', () => {
  it('are moved in, and out to the next build of the site', async () => {
    const folders = ['', 'packages/a', 'packages/b'];
    const first = project('first', ['', 'packages/b']);
    await keep(first, { folders });
    expect(existsSync(path.join(first, 'node_modules'))).toBe(false);
    const second = project('second');
    mkdirSync(path.join(second, 'packages/b'), { recursive: true });
    expect(await cache.take('other', KEY, second, folders)).toBe(false);
    expect(await cache.take('site', 'b'.repeat(64), second, folders)).toBe(false);
    expect(await cache.take('site', KEY, second, folders)).toBe(true);
    expect([what(second), what(second, 'packages/b')]).toEqual(['first ', 'first packages/b']);
    expect(kept()).toEqual([]);
  });

  it('are taken by one of two builds', async () => {
    await keep(project('first', ['']));
    const others = [project('second'), project('third'), project('fourth')];
    const taken = await Promise.all(others.map(folder => cache.take('site', KEY, folder, [''])));
    expect(taken.filter(Boolean)).toHaveLength(1);
    expect(others.map(folder => existsSync(path.join(folder, 'node_modules')))).toEqual(taken);
  });

  it('of one lock file are kept once, the latest', async () => {
    await keep(project('first', ['']));
    await keep(project('second', ['']));
    expect(kept()).toHaveLength(1);
    const third = project('third');
    await cache.take('site', KEY, third, ['']);
    expect(what(third)).toMatch(/^(first|second) $/);
  });

  it('take the place of what a project has', async () => {
    await keep(project('first', ['']));
    const second = project('second', ['']);
    await cache.take('site', KEY, second, ['']);
    expect(what(second)).toBe('first ');
  });

  it('that are too large push others out, or are not kept', async () => {
    const GiB = 1024 ** 3;
    await keep(project('first', ['']), { key: 'a'.repeat(64), bytes: GiB });
    await keep(project('second', ['']), { key: 'b'.repeat(64), bytes: 1.5 * GiB });
    expect(kept()).toEqual([expect.stringMatching(/^b/)]);
    await keep(project('third', ['']), { key: 'c'.repeat(64), bytes: 3 * GiB });
    expect(kept()).toEqual([expect.stringMatching(/^b/)]);
  });

  it('are never moved through a link', async () => {
    const outside = path.join(dataDir, 'outside');
    mkdirSync(path.join(outside, 'node_modules'), { recursive: true });
    const first = project('first');
    symlinkSync(outside, path.join(first, 'packages'));
    symlinkSync(path.join(outside, 'node_modules'), path.join(first, 'node_modules'));
    await keep(first, { folders: ['', 'packages'] });
    expect(existsSync(path.join(outside, 'node_modules'))).toBe(true);
    const second = project('second');
    symlinkSync(outside, path.join(second, 'packages'));
    await keep(project('third', ['', 'packages']), { folders: ['', 'packages'], key: 'c'.repeat(64) });
    expect(await cache.take('site', 'c'.repeat(64), second, ['', 'packages'])).toBe(true);
    expect([what(second), readdirSync(path.join(outside, 'node_modules'))]).toEqual(['third ', []]);
  });

  it('are forgotten after two weeks, and what a dead process left after a day', async () => {
    await keep(project('first', ['']));
    const left = await cache.workFolder('site');
    mkdirSync(left);
    await cache.sweep(Date.now() + 0.9 * DAY_MS);
    expect(kept()).toHaveLength(2);
    await cache.sweep(Date.now() + 13 * DAY_MS);
    expect(kept()).toHaveLength(1);
    await cache.sweep(Date.now() + 15 * DAY_MS);
    expect(readdirSync(path.join(dataDir, 'build-cache'))).toEqual([]);
  });

  it('are forgotten with the site', async () => {
    await keep(project('first', ['']));
    await cache.forget('site');
    await cache.forget('site');
    expect(readdirSync(path.join(dataDir, 'build-cache'))).toEqual([]);
    await expect(cache.forget('../builds')).rejects.toThrow();
  });
});
