import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

/** What lies there, by the order in which it was changed. */
const FILES = {
  'README.md': 'read me\n',
  'src/app.ts': 'app\n',
  'src/deep/util.ts': 'util\n',
  'src/deep/util.spec.ts': 'spec\n',
  'src/deep/.gitignore': 'local*\n!local.keep\n',
  'src/deep/local.txt': 'x\n',
  'src/deep/local.keep': 'x\n',
  'dist/app.js': 'built\n',
  'node_modules/x/index.js': 'x\n',
  '.atelier/output/1.txt': 'out\n',
  '.git/HEAD': 'ref\n',
  '.gitignore': 'dist/\n*.log\n',
  'trace.log': 'log\n',
};

// With a sandbox, system programs look through the tree; without, it is walked. The answers are the same.
describe.each(['auto', 'unsafe-local'])('files where the sandbox is %s', driver => {
  let service: TestService;
  let ada: Person;
  let workspace: string;
  let root: string;

  beforeAll(async () => {
    service = await TestService.start(driver === 'auto' ? {} : { SANDBOX_DRIVER: driver });
    ada = await service.person();
    workspace = await service.workspace(ada);
    root = path.join(service.dataDir, 'workspaces', workspace);
    for (const [index, [name, content]] of Object.entries(FILES).entries()) put(name, content, index);
  });
  afterAll(() => service.stop());

  function put(name: string, content: string, minute: number): void {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), content);
    const time = new Date(Date.UTC(2026, 0, 1, 0, minute));
    utimesSync(path.join(root, name), time, time);
  }
  const get = (route: string, query: Json) =>
    ada.client.get(`/api/workspaces/${workspace}/files${route}?${new URLSearchParams(query)}`);
  const pathsOf = ({ body }: Json): string[] => body.items.map((item: Json) => item.path);
  const find = async (query: Json) => pathsOf(await get('/search', query));
  const list = async (query: Json) => pathsOf(await get('', query));
  const tool = async (name: string, input: Json) =>
    (await ada.client.post(`/api/workspaces/${workspace}/tools/${name}`, { input })).body.output as string;

  it('are found by a pattern or a part of their name, without what is ignored', async () => {
    expect(await find({ pattern: '*.ts' })).toEqual([
      'src/app.ts',
      'src/deep/util.spec.ts',
      'src/deep/util.ts',
    ]);
    expect(await find({ pattern: '/workspace/src/*.ts' })).toEqual(['src/app.ts']);
    expect(await find({ pattern: '{/workspace/src/*.ts,README.*}' })).toEqual(['README.md', 'src/app.ts']);
    expect(await find({ pattern: 'src/**/*.spec.ts' })).toEqual(['src/deep/util.spec.ts']);
    expect(await find({ pattern: 'UTIL' })).toEqual(['src/deep/util.spec.ts', 'src/deep/util.ts']);
    expect(await find({ pattern: 'local' })).toEqual(['src/deep/local.keep']);
    expect(await find({ pattern: '*', type: 'directory' })).toEqual([
      '.atelier',
      '.git',
      'node_modules',
      'src',
      'src/deep',
    ]);
    expect(await find({ pattern: '*.js' })).toEqual([]);
    expect(await find({ pattern: '*.js', ignored: true })).toEqual([
      'dist/app.js',
      'node_modules/x/index.js',
    ]);
    expect(await find({ pattern: '*.ts', path: 'src/deep' })).toEqual([
      'src/deep/util.spec.ts',
      'src/deep/util.ts',
    ]);
  });

  it('are found in pages, with how many there are, or the last changed first', async () => {
    const first = await get('/search', { pattern: '*.ts', limit: 2 });
    expect(first.body.total).toBe(3);
    const rest = await get('/search', { pattern: '*.ts', limit: 2, cursor: first.body.next_cursor });
    expect([...pathsOf(first), ...pathsOf(rest), rest.body.next_cursor]).toEqual([
      'src/app.ts',
      'src/deep/util.spec.ts',
      'src/deep/util.ts',
      null,
    ]);
    const newest = await get('/search', { pattern: '*.ts', sort: 'newest', limit: 2 });
    expect([pathsOf(newest), newest.body.next_cursor]).toEqual([
      ['src/deep/util.spec.ts', 'src/deep/util.ts'],
      null,
    ]);
    expect(await list({ path: 'src/deep', sort: 'newest' })).toEqual([
      'src/deep/local.keep',
      'src/deep/local.txt',
      'src/deep/.gitignore',
      'src/deep/util.spec.ts',
      'src/deep/util.ts',
    ]);
    expect(await list({ recursive: true, ignored: false, sort: 'newest', limit: 3 })).toEqual([
      '.gitignore',
      'src/deep/local.keep',
      'src/deep/.gitignore',
    ]);
  });

  it('of a folder are listed whole over HTTP, and by a tool without what is ignored', async () => {
    expect(await list({ recursive: true, path: 'dist' })).toEqual(['dist/app.js']);
    expect(await list({ recursive: true })).toContain('node_modules/x/index.js');
    expect(await tool('list_files', { recursive: true })).toBe(
      [
        '.atelier/',
        '.git/',
        '.gitignore (12 bytes)',
        'README.md (8 bytes)',
        'node_modules/',
        'src/',
        'src/app.ts (4 bytes)',
        'src/deep/',
        'src/deep/.gitignore (19 bytes)',
        'src/deep/local.keep (2 bytes)',
        'src/deep/util.spec.ts (5 bytes)',
        'src/deep/util.ts (5 bytes)',
      ].join('\n'),
    );
    expect(await tool('list_files', { recursive: true, ignored: true })).toContain('dist/app.js');
    expect(await tool('list_files', { recursive: true, path: 'dist' })).toBe('dist/app.js (6 bytes)');
  });

  it('that are too many are shown as a tree with counts, and none of its folders is left out', async () => {
    for (const folder of ['a', 'b', 'c'])
      for (let n = 0; n < 30; n++) put(`many/${folder}/f${n}.txt`, 'x', n);
    const text = await tool('list_files', { path: 'many', recursive: true, limit: 40 });
    const lines = text.split('\n');
    expect(lines).toHaveLength(34);
    expect(lines.slice(0, 2)).toEqual(['many/a/', 'many/a/f0.txt (1 bytes)']);
    expect(lines.slice(-3)).toEqual([
      'many/b/ (30 files, 30 bytes)',
      'many/c/ (30 files, 30 bytes)',
      '(90 files in 3 folders, 90 bytes in all; folders with counts are not shown in full: list one of them, or look with find_files)',
    ]);
    const flat = await tool('list_files', { path: 'many/a', limit: 5 });
    expect(flat).toContain('(30 files, 30 bytes in all');
    expect(flat.split('\n')).toHaveLength(6);
  });

  it('are described to models with what they find', async () => {
    expect(await tool('find_files', { pattern: '*.ts', limit: 2 })).toBe(
      'src/app.ts (4 bytes)\nsrc/deep/util.spec.ts (5 bytes)\n… 1 more; narrow the pattern or the path, or raise limit',
    );
    expect(await tool('find_files', { pattern: '*.none' })).toBe('Nothing found');
    expect(await tool('find_files', { pattern: '*', path: 'scr' })).toContain('did you mean "src"?');
  });

  it('cannot be looked for outside, in a file, or by strangers', async () => {
    symlinkSync('/etc', path.join(root, 'etc'));
    expect(await find({ pattern: 'passwd', ignored: true })).toEqual([]);
    const status = async (query: Json, person = ada) =>
      (await person.client.get(`/api/workspaces/${workspace}/files/search?${new URLSearchParams(query)}`))
        .status;
    expect(await status({ pattern: '*', path: 'etc' })).toBe(409);
    expect(await status({ pattern: '*', path: '../..' })).toBe(422);
    expect(await status({ pattern: '*', path: 'README.md' })).toBe(409);
    expect(await status({ pattern: '*', path: 'none' })).toBe(404);
    expect(await status({ pattern: '' })).toBe(422);
    expect(await status({ pattern: '*' }, await service.person('Mallory'))).toBe(404);
  });

  it('are looked for in time whatever a .gitignore says', async () => {
    const bad = [
      `${'*a'.repeat(450)}b`,
      `${'**/'.repeat(300)}x`,
      `[${'a-z'.repeat(300)}]`,
      `${'\\'.repeat(900)}`,
    ];
    put('hostile/.gitignore', Array.from({ length: 1000 }, (_, n) => bad[n % bad.length]).join('\n'), 0);
    for (let n = 0; n < 20; n++) put(`hostile/${'a'.repeat(240)}${n}`, 'x', 0);
    expect(await find({ pattern: '*', path: 'hostile' })).toHaveLength(21);
  });
});
