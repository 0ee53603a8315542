import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { shorten, Toolbox } from '../../../src/agents/tools/index.js';
import type { Actor } from '../../../src/platform/access/index.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;
let workspace: string;
let toolbox: Toolbox;

beforeAll(async () => {
  service = await TestService.start({ SANDBOX_LIMITS: `memory=${128 * 1024 * 1024}` });
  ada = await service.person();
  workspace = await service.workspace(ada);
  toolbox = service.app.get(Toolbox, { strict: false });
});
afterAll(() => service.stop());

function actorOf({ id, email }: Person, scopes: string[] | null = null): Actor {
  const limits = { scopes, organization_id: null, workspace_ids: null, expires_at: null };
  return { type: 'user', id, name: 'Test', email, credential: { type: 'session', id, ...limits } };
}

const call = (
  tool: string,
  input: unknown,
  more: { actor?: Actor; signal?: AbortSignal; onOutput?: (text: string) => void } = {},
) =>
  toolbox.run(
    { actor: actorOf(ada), workspaceId: workspace, signal: new AbortController().signal, ...more },
    tool,
    input,
  );
const bash = (command: string, more: Parameters<typeof call>[2] = {}, timeout_seconds?: number) =>
  call('bash', { command, timeout_seconds }, more);

describe('bash', () => {
  it('answers with what a script wrote, to both streams, and leaves its files', async () => {
    const { output, isError } = await bash('echo out; echo err >&2; pwd; echo kept > kept.txt');
    expect([isError, output.split('\n').sort()]).toEqual([false, ['/workspace', 'err', 'out']]);
    expect(readFileSync(path.join(service.dataDir, 'workspaces', workspace, 'kept.txt'), 'utf8')).toBe(
      'kept\n',
    );
    expect((await call('read_file', { path: 'kept.txt' })).output).toBe('1\tkept');
  });

  it('says that there was no output', async () => {
    expect(await bash('true')).toMatchObject({ output: '(no output)', isError: false });
  });

  it('reports an exit code as an error, after the output', async () => {
    expect(await bash('echo before; exit 3')).toMatchObject({
      output: 'before\nExit code 3.',
      isError: true,
    });
    expect(await bash('no-such-program')).toMatchObject({
      output: expect.stringMatching(/not found[\s\S]*Exit code 127\.$/),
      isError: true,
    });
  });

  it('reports that it took too long', async () => {
    const { output, isError } = await bash('echo begun; sleep 600', {}, 5);
    expect([isError, output]).toEqual([
      true,
      expect.stringMatching(
        /^begun\nKilled: it took longer than allowed by timeout_seconds=5\. Give it more/,
      ),
    ]);
  });

  it('leaves out what a progress line wrote over, and keeps line ends', async () => {
    const { output } = await bash(String.raw`printf '1%%\r50%%\r100%%\nend\r\n'`);
    expect(output).toBe('100%\nend\n(Left out: what was written over after a carriage return, 2 times.)');
  });

  it('says that a command asked something which nothing can answer', async () => {
    const asked = /Continue\? \[y\/N\] Abort\.\nExit code 1\.\nIt seems to have asked something/;
    expect((await bash("printf 'Continue? [y/N] Abort.\\n'; exit 1")).output).toMatch(asked);
    expect((await bash("printf 'Your name: '; sleep 600", {}, 5)).output).toContain('It seems to have asked');
    expect((await bash(`python3 -c "input('Name: ')"`)).output).toContain('It seems to have asked');
    expect((await bash("echo 'Did you mean it?'; exit 1")).output).toBe('Did you mean it?\nExit code 1.');
  });

  it('reports that it used too much memory', async () => {
    const { output, isError } = await bash('head -c 1G /dev/zero | tail');
    expect([isError, output]).toEqual([
      true,
      expect.stringContaining('Killed: it used more memory than allowed.'),
    ]);
  });

  it('reports that it was stopped', async () => {
    const stop = new AbortController();
    const onOutput = () => stop.abort();
    const { output, isError } = await bash('echo begun; sleep 600', { signal: stop.signal, onOutput });
    expect([isError, output]).toEqual([true, 'begun\nKilled: the run was stopped.']);
  });

  it('keeps the beginning and the end of what is long', async () => {
    const { output, isError } = await bash('echo first; seq 100000; echo last');
    expect(isError).toBe(false);
    expect(output.length).toBeLessThan(51_000);
    expect(output).toMatch(/^first\n1\n2\n[\s\S]*\n… \d+ characters left out …\n[\s\S]*\nlast$/);
  });

  it('ends a flood, and says so', async () => {
    const { output, isError } = await bash('yes');
    expect([isError, output.split('\n').slice(-2)]).toEqual([
      true,
      ['Output beyond the limit is left out.', 'Killed: it wrote more output than allowed.'],
    ]);
  });

  it('shows output while it comes', async () => {
    const seen: string[] = [];
    await bash('echo one; echo two', { onOutput: text => seen.push(text) });
    expect(seen.join('')).toBe('one\ntwo\n');
  });

  it.each([
    [{}, /^command /],
    [{ command: '' }, /^command must have 1 to/],
    [{ command: 'true', timeout_seconds: 0 }, /^timeout_seconds must be at least 1/],
    [{ command: 'true', cwd: '/' }, /^cwd is not a field/],
    ['true', /^The body must be a JSON object|^The input must be/],
  ])('refuses %j in words', async (input, detail) => {
    expect(await call('bash', input)).toMatchObject({ isError: true, output: expect.stringMatching(detail) });
  });

  it('is not for those who may only read, or see nothing', async () => {
    const viewer = await service.person('Viewer');
    const place = { organization: ada.organizationId, role: 'guest', workspace, workspaceRole: 'viewer' };
    await service.join(viewer, place);
    const stranger = await service.person('Mallory');
    const command = 'touch /workspace/never';
    for (const [actor, detail] of [
      [actorOf(viewer), 'editor'],
      [actorOf(stranger), 'No such workspace'],
      [actorOf(ada, ['files:write']), 'code:run'],
    ] as [Actor, string][])
      expect(await bash(command, { actor })).toMatchObject({
        isError: true,
        output: expect.stringContaining(detail),
      });
    expect(existsSync(path.join(service.dataDir, 'workspaces', workspace, 'never'))).toBe(false);
  });
});

describe('file tools', () => {
  it('write, edit, list, find and read, and say what they changed', async () => {
    expect(await call('write_file', { path: 'docs/a.md', content: 'one\ntwo\nthree\n' })).toMatchObject({
      output: 'Created docs/a.md (14 bytes)',
      changed: ['docs/a.md'],
    });
    expect(await call('edit_file', { path: 'docs/a.md', old_text: 'two', new_text: '2' })).toMatchObject({
      output: 'Replaced 1 occurrence in docs/a.md:\n1\tone\n2\t2\n3\tthree',
      changed: ['docs/a.md'],
    });
    expect((await call('list_files', { path: 'docs' })).output).toBe('docs/a.md (12 bytes)');
    expect((await call('search_files', { query: 'three' })).output).toBe('docs/a.md:3: three');
    await call('write_file', { path: 'many.txt', content: 'heron\n'.repeat(150) });
    const many = (await call('search_files', { query: 'heron', path: 'many.txt' })).output.split('\n');
    expect(many).toHaveLength(101);
    expect(many.at(-1)).toMatch(/there are more: narrow it/);
    await call('bash', { command: 'yes "a heron on line" | head -c 9000000 > large.log' });
    expect((await call('search_files', { query: 'on line' })).output).toMatch(
      /^Nothing found\n\(not searched, as over 8 MiB: large\.log; search in one by giving it as path\)$/,
    );
    const inside = (await call('search_files', { query: 'on line', path: 'large.log', limit: 1 })).output;
    expect(inside).toMatch(/^large\.log:1: a heron on line\n… there are more/);
    await call('bash', { command: 'rm large.log' });
    expect((await call('search_files', { query: 'nowhere to be found' })).output).toBe('Nothing found');
    expect((await call('read_file', { path: 'docs/a.md', start_line: 2, end_line: 2 })).output).toBe(
      '2\t2\n(lines 2–2 of 3; go on with start_line=3)',
    );
    expect((await call('read_file', { path: 'docs/a.md', start_line: 9 })).output).toBe(
      '(no such lines; the file has 3)',
    );
  });

  it('read a long file in parts, each of which says where the next begins', async () => {
    const lines = Array.from({ length: 4_500 }, (_, i) => `line ${i + 1}`);
    await call('write_file', { path: 'long.txt', content: `${lines.join('\n')}\n` });
    const read: string[] = [];
    for (let start: number | undefined = 1, parts = 0; start !== undefined && parts < 10; parts++) {
      const { output } = await call('read_file', { path: 'long.txt', start_line: start });
      const shown = output.split('\n');
      const pointer = shown.pop() ?? '';
      read.push(...shown);
      const next = /go on with start_line=(\d+)/.exec(pointer)?.[1];
      start = next === undefined ? undefined : Number(next);
    }
    expect(read).toEqual(lines.map((line, i) => `${i + 1}\t${line}`));
    // Of one that does not fit only the beginning, as a search finds the rest.
    await call('write_file', { path: 'longer.txt', content: `${lines.join('\n')}\n`.repeat(2) });
    const beginning = (await call('read_file', { path: 'longer.txt' })).output;
    expect(beginning.length).toBeLessThan(12_500);
    expect(beginning).toMatch(
      /\(lines 1–\d+ of 9000; find the lines that matter with search_files; go on with start_line=\d+\)$/,
    );
    const asked = (await call('read_file', { path: 'longer.txt', start_line: 1, end_line: 1_900 })).output;
    expect(asked.split('\n')).toHaveLength(1_901);
    await call('write_file', { path: 'wide.txt', content: 'x'.repeat(1_000_000) });
    const { output } = await call('read_file', { path: 'wide.txt' });
    expect(output).toMatch(/^1\tx{2000}… \(/);
    expect(output.length).toBeLessThan(2_200);
  });

  it('take a path as commands see it, and refuse those of other places', async () => {
    const file = path.join(service.dataDir, 'workspaces', workspace, 'seen/b.md');
    await call('write_file', { path: '/workspace/seen/a.md', content: 'one\n' });
    await call('edit_file', { path: '/workspace/seen/a.md', old_text: 'one', new_text: 'duck' });
    expect((await call('read_file', { path: 'seen/a.md' })).output).toBe('1\tduck');
    expect((await call('list_files', { path: '/workspace/seen' })).output).toBe('seen/a.md (5 bytes)');
    expect((await call('search_files', { query: 'duck', path: '/workspace/seen' })).output).toBe(
      'seen/a.md:1: duck',
    );
    for (const glob of ['/workspace/seen/*.md', 'seen/*.md'])
      expect((await call('search_files', { query: 'duck', glob })).output).toBe('seen/a.md:1: duck');
    expect(await call('write_file', { path: '/seen/b.md', content: '' })).toMatchObject({
      isError: true,
      output: expect.stringContaining('"/seen/b.md" lies outside the workspace, which is /workspace'),
    });
    expect(existsSync(file)).toBe(false);
  });

  it('search with the lines around a match, or for files and how many lines match', async () => {
    const lines = ['one', 'two', 'heron', 'four', 'heron', 'six', 'seven', 'eight', 'heron'];
    await call('write_file', { path: 'around/a.md', content: `${lines.join('\n')}\n` });
    await call('write_file', { path: 'around/b.md', content: 'heron\n' });
    const search = async (more: object) =>
      (await call('search_files', { query: 'heron', path: 'around', ...more })).output.split('\n');
    expect(await search({ context: 1 })).toEqual([
      'around/a.md-2- two',
      'around/a.md:3: heron',
      'around/a.md-4- four',
      'around/a.md:5: heron',
      'around/a.md-6- six',
      '--',
      'around/a.md-8- eight',
      'around/a.md:9: heron',
      '--',
      'around/b.md:1: heron',
    ]);
    expect(await search({ files_only: true })).toEqual([
      'around/a.md (3 lines): 3: heron',
      'around/b.md (1 line): 1: heron',
    ]);
  });

  it('say what is wrong, for a model to act on', async () => {
    expect(await call('search_files', { query: '' })).toMatchObject({
      output: expect.stringMatching(/^query /),
      isError: true,
    });
    expect(await call('read_file', { path: 'none' })).toMatchObject({
      isError: true,
      output: expect.stringContaining('does not exist'),
    });
    expect(await call('read_file', { path: '../x' })).toMatchObject({
      isError: true,
      output: expect.stringContaining('".."'),
    });
    expect(await call('edit_file', { file: 'a.md', old_text: 'a', new_text: 'b' })).toMatchObject({
      isError: true,
      output: expect.stringMatching(
        /^path is required, file is not a field of this request; the fields of edit_file are path \(required\), /,
      ),
    });
    expect(await call('no_such_tool', {})).toMatchObject({
      isError: true,
      output: expect.stringMatching(/^There is no tool no_such_tool; there are bash, /),
    });
  });
});

describe('shortening', () => {
  it('leaves what is short alone, and never cuts a character in two', () => {
    expect(shorten('short', 5)).toBe('short');
    const cut = shorten('🦆'.repeat(100), 11);
    expect(cut.isWellFormed()).toBe(true);
    expect(cut).toContain('characters left out');
  });
});
