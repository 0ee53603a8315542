import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;
let viewer: Person;
let workspace: string;

beforeAll(async () => {
  service = await TestService.start({ WORKSPACE_LIMITS: 'bytes=400000' });
  ada = await service.person();
  viewer = await service.person('Viewer');
  workspace = await service.workspace(ada);
  const place = { organization: ada.organizationId, role: 'guest', workspace, workspaceRole: 'viewer' };
  await service.join(viewer, place);
});
afterAll(() => service.stop());

const at = (file: string) => path.join(service.dataDir, 'workspaces', workspace, file);
const content = (file: string) => readFileSync(at(file), 'utf8');
const base = () => `/api/workspaces/${workspace}/files`;
const write = (file: string, text: string) =>
  ada.client.put(`${base()}/content`, { path: file, content: text });
const edits = (body: Json, person = ada) => person.client.post(`${base()}/edits`, body);
const patch = (lines: string, person = ada) =>
  person.client.post(`${base()}/patch`, { patch: `*** Begin Patch\n${lines}\n*** End Patch` });
const tool = (name: string, input: Json) =>
  ada.client.post(`/api/workspaces/${workspace}/tools/${name}`, { input });
const changes = () =>
  service.database.query<Json>('select path, kind, etag from workspace_change where workspace_id = $1', [
    workspace,
  ]);

describe('a path that is not there', () => {
  it('is answered with what may be meant', async () => {
    await write('near/src/heron.ts', 'x');
    const read = async (file: string) => (await ada.client.get(`${base()}/content?path=${file}`)).body.detail;
    expect(await read('near/src/herno.ts')).toBe(
      '"near/src/herno.ts" does not exist; did you mean "near/src/heron.ts"?',
    );
    expect(await read('near/scr/heron.ts')).toContain('did you mean "near/src/heron.ts"?');
    expect(await read('heron.ts')).toContain('did you mean "near/src/heron.ts"?');
    expect(await read('near/src')).toBe('"near/src" is a folder, not a file; it holds "heron.ts"');
    expect(await read('near')).toContain('it holds "src" (a folder)');
    expect(await read('nothing-like-it-anywhere')).toBe('"nothing-like-it-anywhere" does not exist');
    const edited = await edits({ path: 'near/src/heron.tsx', edits: [{ old_text: 'x', new_text: 'y' }] });
    expect(edited.body.detail).toContain('did you mean "near/src/heron.ts"?');
  });
});

describe('several edits', () => {
  it('are made in one file or several, each to what those before it left', async () => {
    await write('e/a.txt', 'one\ntwo\nthree\n');
    await write('e/b.txt', 'x x\n');
    const { status, body } = await edits({
      path: 'e/a.txt',
      edits: [
        { old_text: 'one', new_text: '1' },
        { old_text: '1\ntwo', new_text: '1\n2' },
        { path: '/workspace/e/b.txt', old_text: 'x', new_text: 'y', replace_all: true },
      ],
    });
    expect([status, content('e/a.txt'), content('e/b.txt')]).toEqual([200, '1\n2\nthree\n', 'y y\n']);
    expect(body.files).toEqual([
      expect.objectContaining({
        path: 'e/a.txt',
        kind: 'modified',
        from: null,
        size: 10,
        excerpt: expect.stringContaining('2\t2'),
      }),
      expect.objectContaining({ path: 'e/b.txt', kind: 'modified' }),
    ]);
    const { body: stat } = await ada.client.get(`${base()}/stat?path=e/a.txt`);
    expect(body.files[0].etag).toBe(stat.etag);
    const logged = (await changes()).filter(change => change.path.startsWith('e/'));
    expect(logged.map(change => change.etag)).toContain(stat.etag);
  });

  it('are none where one does not fit, and the refusal names it', async () => {
    await write('e/c.txt', 'one\ntwo\n');
    const { status, body } = await edits({
      path: 'e/c.txt',
      edits: [
        { old_text: 'one', new_text: '1' },
        { old_text: 'tow', new_text: '2' },
      ],
    });
    expect([status, content('e/c.txt')]).toEqual([409, 'one\ntwo\n']);
    expect(body.detail).toMatch(
      /^Edit 2 of 2: The text to replace was not found in "e\/c.txt"; none of them was made$/,
    );
    expect((await edits({ edits: [{ old_text: 'a', new_text: 'b' }] })).body.detail).toContain(
      'edits.0.path',
    );
    expect((await edits({ path: 'e/none', edits: [{ old_text: 'a', new_text: 'b' }] })).status).toBe(404);
    expect((await edits({ path: '../x', edits: [{ old_text: 'a', new_text: 'b' }] })).status).toBe(422);
    expect((await edits({ path: 'e/c.txt', edits: [], sudo: 1 })).status).toBe(422);
  });

  it('of several callers at once are all made', async () => {
    await write('e/d.txt', Array.from({ length: 10 }, (_, n) => `<${n}>`).join(''));
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        edits({ path: 'e/d.txt', edits: [{ old_text: `<${n}>`, new_text: `[${n}]` }] }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(content('e/d.txt')).not.toContain('<');
  });
});

describe('a patch', () => {
  it('adds, updates, moves and deletes files', async () => {
    await write('p/a.ts', 'class A {\n  x = 1;\n}\n');
    await write('p/old.ts', 'export {};\n');
    await write('p/gone.ts', 'gone\n');
    const lines = [
      '*** Add File: p/new/b.ts',
      '+export const b = 1;',
      '*** Update File: /workspace/p/a.ts',
      '@@ class A {',
      '-  x = 1;',
      '+  x = 2;',
      '*** Update File: p/old.ts',
      '*** Move to: p/moved.ts',
      ' export {};',
      '+// moved',
      '*** Delete File: p/gone.ts',
    ].join('\n');
    const { status, body } = await patch(lines);
    expect(status).toBe(200);
    expect(body.files.map(({ path, kind, from }: Json) => [path, kind, from])).toEqual([
      ['p/new/b.ts', 'created', null],
      ['p/a.ts', 'modified', null],
      ['p/moved.ts', 'moved', 'p/old.ts'],
      ['p/gone.ts', 'deleted', null],
    ]);
    expect([content('p/new/b.ts'), content('p/a.ts'), content('p/moved.ts')]).toEqual([
      'export const b = 1;\n',
      'class A {\n  x = 2;\n}\n',
      'export {};\n// moved\n',
    ]);
    expect([existsSync(at('p/old.ts')), existsSync(at('p/gone.ts'))]).toEqual([false, false]);
    const logged = (await changes()).filter(
      change => change.path.startsWith('p/') && change.kind === 'deleted',
    );
    expect(logged.map(change => change.path).sort()).toEqual(['p/gone.ts', 'p/old.ts']);
  });

  it('may be a unified diff', async () => {
    await write('p/u.txt', 'one\ntwo\nthree\n');
    const diff = '--- a/p/u.txt\n+++ b/p/u.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n';
    expect((await ada.client.post(`${base()}/patch`, { patch: diff })).status).toBe(200);
    expect(content('p/u.txt')).toBe('one\nTWO\nthree\n');
  });

  it('is not applied at all where a hunk does not fit, and the refusal shows what is there', async () => {
    await write('p/c.txt', 'alpha beta gamma\ndelta\n');
    const { status, body } = await patch(
      '*** Add File: p/never.txt\n+x\n*** Update File: p/c.txt\n-alpha beta gama\n+x\n@@\n-delta\n+y',
    );
    expect([status, content('p/c.txt'), existsSync(at('p/never.txt'))]).toEqual([
      409,
      'alpha beta gamma\ndelta\n',
      false,
    ]);
    expect(body.detail).toMatch(/^Hunk 1 of Update File "p\/c.txt" \(line 5 of the patch\) does not fit/);
    expect(body.detail).toContain('1\talpha beta gamma');
  });

  it.each([
    ['a path outside', '*** Update File: ../x\n-a\n+b', 422],
    ['an absolute path outside', '*** Add File: /etc/passwd\n+b', 422],
    ['a move outside', '*** Update File: p/f.txt\n*** Move to: ../../x\n-f\n+g', 422],
    ['a path through a link', '*** Add File: p/out/x\n+b', 409],
    ['a file that is there already', '*** Add File: p/f.txt\n+b', 409],
    ['a move to where something is', '*** Update File: p/f.txt\n*** Move to: p/g.txt\n-f\n+g', 409],
    ['a file that is not there', '*** Update File: p/none\n-a\n+b', 404],
    ['the deletion of a folder', '*** Delete File: p', 409],
    ['no patch', 'hello', 422],
  ])('is refused, and nothing is changed: %s', async (_, lines, expected) => {
    await write('p/f.txt', 'f\n');
    await write('p/g.txt', 'g\n');
    mkdirSync(path.join(service.dataDir, 'outside'), { recursive: true });
    if (!existsSync(at('p/out'))) symlinkSync(path.join(service.dataDir, 'outside'), at('p/out'));
    expect((await patch(lines)).status).toBe(expected);
    expect([content('p/f.txt'), content('p/g.txt')]).toEqual(['f\n', 'g\n']);
    expect(existsSync(path.join(service.dataDir, 'outside/x'))).toBe(false);
  });

  it('may not take more room than there is', async () => {
    const { status } = await patch(`*** Add File: p/big.txt\n+${'x'.repeat(500_000)}`);
    expect([status, existsSync(at('p/big.txt'))]).toEqual([413, false]);
  });

  it('is for editors, and strangers see nothing', async () => {
    const stranger = await service.person('Mallory');
    const lines = '*** Add File: p/never.txt\n+x';
    expect((await patch(lines, viewer)).status).toBe(403);
    expect((await patch(lines, stranger)).status).toBe(404);
    expect((await edits({ path: 'x', edits: [{ old_text: 'a', new_text: 'b' }] }, viewer)).status).toBe(403);
    expect((await edits({ path: 'x', edits: [{ old_text: 'a', new_text: 'b' }] }, stranger)).status).toBe(
      404,
    );
  });

  it('that is sent twice at once is applied once', async () => {
    await write('p/twice.txt', 'a\n');
    const answers = await Promise.all([1, 2].map(() => patch('*** Update File: p/twice.txt\n-a\n+b')));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(content('p/twice.txt')).toBe('b\n');
  });
});

describe('as tools', () => {
  it('they say what became of each file', async () => {
    await write('t/a.txt', '  one\ntwo\n');
    const { body } = await tool('apply_patch', {
      patch: '*** Begin Patch\n*** Update File: t/a.txt\n-one\n+1\n*** Add File: t/b.txt\n+b\n*** End Patch',
    });
    expect(body).toMatchObject({ is_error: false });
    expect(body.output).toBe(
      'M t/a.txt\nHunk 1 was found where the lines differ in white space at the beginning or the end of lines\n1\t1\n2\ttwo\nA t/b.txt',
    );
    const edited = await tool('multi_edit', { path: 't/b.txt', edits: [{ old_text: 'b', new_text: 'c' }] });
    expect(edited.body.output).toBe('M t/b.txt\n1\tc');
    writeFileSync(at('t/b.txt'), 'other');
    const refused = await tool('multi_edit', { path: 't/b.txt', edits: [{ old_text: 'b', new_text: 'c' }] });
    expect(refused.body).toMatchObject({ is_error: true, output: expect.stringContaining('was not found') });
  });
});
