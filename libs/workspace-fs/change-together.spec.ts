import { chmodSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openDescriptors, TestWorkspace } from './workspace.fixture.js';

let workspace: TestWorkspace;

beforeEach(async () => {
  workspace = await TestWorkspace.make();
});
afterEach(() => workspace.remove());

const contentOf = (path: string) => readFileSync(workspace.at(path), 'utf8');

describe('files that change together', () => {
  it('are written, made, moved and removed at once', async () => {
    await workspace.put('a.txt', 'a');
    await workspace.put('run.sh', 'old');
    chmodSync(workspace.at('run.sh'), 0o755);
    await workspace.put('gone.txt', 'gone');
    const seen: string[][] = [];
    const { result, changes } = await workspace.fs.changeTogether(
      ['a.txt', 'deep/er/b.txt', 'run.sh', 'bin/run.sh', 'gone.txt'],
      async draft => {
        await draft.write('a.txt', `${await draft.read('a.txt')}!`);
        await draft.write('deep/er/b.txt', 'b');
        await draft.write('bin/run.sh', await draft.read('run.sh'), 'run.sh');
        await draft.remove('run.sh');
        await draft.remove('gone.txt');
        return 'planned';
      },
      {
        beforePlacing: async ready => {
          seen.push(
            ready.map(({ path, before, after }) => `${path} ${before ? 1 : 0}${after ? 1 : 0}`).sort(),
          );
          expect(contentOf('a.txt')).toBe('a');
        },
        around: (room, change) => {
          expect(room).toEqual({ growth: 1 + 1 + 3 - 3 - 4, created: ['deep/er/b.txt', 'bin/run.sh'] });
          return change();
        },
      },
    );
    expect(result).toBe('planned');
    expect(seen).toEqual([['a.txt 11', 'bin/run.sh 01', 'deep/er/b.txt 01', 'gone.txt 10', 'run.sh 10']]);
    expect(changes).toHaveLength(5);
    expect([contentOf('a.txt'), contentOf('deep/er/b.txt'), contentOf('bin/run.sh')]).toEqual([
      'a!',
      'b',
      'old',
    ]);
    expect(statSync(workspace.at('bin/run.sh')).mode & 0o777).toBe(0o755);
    expect(changes.find(({ path }) => path === 'a.txt')?.after).toEqual(await workspace.fs.stat('a.txt'));
    expect(workspace.names()).toEqual(['a.txt', 'bin', 'bin/run.sh', 'deep', 'deep/er', 'deep/er/b.txt']);
    expect(openDescriptors()).toBe(0);
  });

  it('stay as they were where one of them cannot be put in its place', async () => {
    await workspace.put('a.txt', 'a');
    await workspace.put('b.txt', 'b');
    await workspace.put('c.txt', 'c');
    const before = await workspace.fs.stat('a.txt');
    const change = workspace.fs.changeTogether(
      ['a.txt', 'b.txt', 'c.txt', 'd.txt'],
      async draft => {
        await draft.write('a.txt', 'A');
        await draft.remove('b.txt');
        await draft.write('d.txt', 'd');
        await draft.write('c.txt', 'C');
      },
      { beforePlacing: async () => workspace.put('c.txt', 'crossed') },
    );
    await expect(change).rejects.toMatchObject({ code: 'precondition_failed' });
    expect(workspace.names()).toEqual(['a.txt', 'b.txt', 'c.txt']);
    expect([contentOf('a.txt'), contentOf('b.txt'), contentOf('c.txt')]).toEqual(['a', 'b', 'crossed']);
    expect(await workspace.fs.stat('a.txt')).toEqual(before);
    expect(openDescriptors()).toBe(0);
  });

  it('are not touched where the plan fails, or comes to nothing', async () => {
    await workspace.put('a.txt', 'a');
    const fails = workspace.fs.changeTogether(['a.txt'], async draft => {
      await draft.write('a.txt', 'A');
      throw new Error('no');
    });
    await expect(fails).rejects.toThrow('no');
    const { changes } = await workspace.fs.changeTogether(
      ['a.txt'],
      async draft => draft.write('a.txt', 'a'),
      { beforePlacing: async () => Promise.reject(new Error('never')) },
    );
    expect(changes).toEqual([]);
    expect(workspace.names()).toEqual(['a.txt']);
  });

  it('do not wait for each other without end', async () => {
    const append = (paths: string[]) =>
      workspace.fs.changeTogether(paths, async draft => {
        for (const path of paths)
          await draft.write(path, (await draft.has(path)) ? `${await draft.read(path)}x` : 'x');
      });
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => append(n % 2 ? ['a', 'b', 'c'] : ['c', 'b', 'a'])),
    );
    expect(['a', 'b', 'c'].map(contentOf)).toEqual(Array(3).fill('x'.repeat(20)));
  });

  it('are text files in the workspace, and nothing else', async () => {
    await workspace.put('binary', Buffer.from([0xff, 0]));
    await workspace.put('folder/x', 'x');
    symlinkSync(workspace.outside('canary.txt'), workspace.at('link'));
    symlinkSync(workspace.outside(), workspace.at('out'));
    const write = (path: string) =>
      workspace.fs.changeTogether([path], async draft => draft.write(path, 'x'));
    await expect(write('binary')).rejects.toMatchObject({ code: 'not_text' });
    await expect(write('folder')).rejects.toMatchObject({ code: 'is_directory' });
    await expect(write('link')).rejects.toMatchObject({ code: 'symlink' });
    await expect(write('out/canary.txt')).rejects.toMatchObject({ code: 'symlink' });
    await expect(write('../x')).rejects.toMatchObject({ code: 'invalid_path' });
    await expect(write('')).rejects.toMatchObject({ code: 'invalid_path' });
    await expect(write('folder/x/below')).rejects.toMatchObject({ code: 'not_directory' });
    const large = workspace.fs.changeTogether(['y'], async draft =>
      draft.write('y', 'x'.repeat(1024 * 1024 + 1)),
    );
    await expect(large).rejects.toMatchObject({ code: 'too_large' });
    const many = workspace.fs.changeTogether(
      Array.from({ length: 201 }, (_, n) => `${n}`),
      async () => undefined,
    );
    await expect(many).rejects.toThrow('201 files cannot change together');
  });
});
