import { chmodSync, linkSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { openDescriptors, TestWorkspace } from './workspace.fixture.js';

let workspace: TestWorkspace;
beforeEach(async () => {
  workspace = await TestWorkspace.make({ maxFileBytes: 1000 });
});
afterEach(() => workspace.remove());

async function* endless(onFirst?: () => void): AsyncGenerator<Uint8Array> {
  yield Buffer.from('first');
  onFirst?.();
  await new Promise(() => undefined);
}

describe('write', () => {
  it('makes a file and the folders it needs', async () => {
    const { entry, created } = await workspace.fs.write('a/b/c.txt', 'hello');
    expect(created).toBe(true);
    expect(entry).toMatchObject({ path: 'a/b/c.txt', type: 'file', size: 5 });
    expect(readFileSync(workspace.at('a/b/c.txt'), 'utf8')).toBe('hello');
    expect(statSync(workspace.at('a/b/c.txt')).mode & 0o7777).toBe(0o644);
    expect(statSync(workspace.at('a')).mode & 0o7777).toBe(0o755);
    expect(await workspace.fs.stat('a/b/c.txt')).toEqual(entry);
  });

  it('replaces a file under a new inode and keeps its permissions, but for set-user-id', async () => {
    await workspace.put('run.sh', 'old');
    linkSync(workspace.at('run.sh'), workspace.outside('linked'));
    chmodSync(workspace.at('run.sh'), 0o4750);
    const { created } = await workspace.fs.write('run.sh', Buffer.from('new'));
    expect(created).toBe(false);
    expect(statSync(workspace.at('run.sh')).mode & 0o7777).toBe(0o750);
    expect(readFileSync(workspace.outside('linked'), 'utf8')).toBe('old');
  });

  it('asks for conditions and for room with what is there, before anything is made', async () => {
    await workspace.put('there/a', 'old');
    const asked: unknown[] = [];
    const write = (path: string, room = true) =>
      workspace.fs.write(path, 'new', {
        conditions: async before => {
          asked.push(before?.size ?? null);
          return before ? { ifMatch: before.etag ?? '' } : { ifNoneMatch: '*' };
        },
        around: async (made, work) => {
          asked.push(made);
          if (!room) throw new Error('no room');
          return work();
        },
      });
    await expect(write('b/c/d', false)).rejects.toThrow('no room');
    expect(workspace.names()).toEqual(['there', 'there/a']);
    expect(await write('b/c/d')).toMatchObject({ created: true });
    expect(await write('b/e')).toMatchObject({ created: true });
    expect(await write('there/a')).toMatchObject({ created: false });
    expect(asked).toEqual([null, 3, null, 3, null, 1, 3, 0]);
  });

  it('holds the conditions that it was given on the way', async () => {
    const crossed = (conditions: { ifMatch?: string; ifNoneMatch?: '*' }) =>
      workspace.fs.write('a', 'mine', {
        conditions: async () => conditions,
        around: async (_made, work) => {
          await workspace.put('a', 'theirs');
          return work();
        },
      });
    for (const conditions of [{ ifNoneMatch: '*' as const }, { ifMatch: '"before"' }])
      await expect(crossed(conditions)).rejects.toMatchObject({ code: 'precondition_failed' });
    expect(readFileSync(workspace.at('a'), 'utf8')).toBe('theirs');
    expect(workspace.names()).toEqual(['a']);
  });

  it('takes streams', async () => {
    await workspace.fs.write('s', Readable.from([Buffer.from('one '), Buffer.from('two')]), {
      expectedBytes: 7,
    });
    expect(readFileSync(workspace.at('s'), 'utf8')).toBe('one two');
  });

  it('gives files and folders to the owner', async () => {
    if (process.getuid?.() !== 0) return;
    const owned = await TestWorkspace.make({ owner: { uid: 12345, gid: 12346 } });
    await owned.fs.write('a/b.txt', 'x');
    await owned.fs.mkdir('c/d');
    await owned.fs.copy('a', 'e');
    for (const path of ['', 'a', 'a/b.txt', 'c', 'c/d', 'e', 'e/b.txt']) {
      expect(statSync(owned.at(path))).toMatchObject({ uid: 12345, gid: 12346 });
    }
    await owned.remove();
  });

  it('refuses too large content, at once where the length is known, and leaves nothing', async () => {
    const tooLarge = expect.objectContaining({ code: 'too_large', message: expect.stringContaining('1000') });
    await expect(workspace.fs.write('new/a', 'x'.repeat(1001))).rejects.toEqual(tooLarge);
    await expect(workspace.fs.write('new/a', endless(), { expectedBytes: 1001 })).rejects.toEqual(tooLarge);
    const chunks = Readable.from(Array.from({ length: 11 }, () => Buffer.alloc(100)));
    await expect(workspace.fs.write('new/a', chunks)).rejects.toEqual(tooLarge);
    expect(chunks.destroyed).toBe(true);
    expect(workspace.names()).toEqual([]);
  });

  it('refuses content that ends early, and passes on the failure of a source', async () => {
    const short = workspace.fs.write('a', Readable.from([Buffer.from('x')]), { expectedBytes: 2 });
    await expect(short).rejects.toMatchObject({
      code: 'aborted',
      message: expect.stringContaining('1 of 2'),
    });
    const broken = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('x');
      throw new Error('connection lost');
    };
    await expect(workspace.fs.write('a', broken())).rejects.toThrow('connection lost');
    expect(workspace.names()).toEqual([]);
  });

  it('leaves nothing when aborted in the middle of a source that says nothing more', async () => {
    const before = openDescriptors();
    const abort = new AbortController();
    const source = endless(() => abort.abort(new Error('client left')));
    await expect(workspace.fs.write('new/a', source, { signal: abort.signal })).rejects.toMatchObject({
      code: 'aborted',
      cause: expect.objectContaining({ message: 'client left' }),
    });
    await expect(workspace.fs.write('a', 'x', { signal: abort.signal })).rejects.toMatchObject({
      code: 'aborted',
    });
    expect(workspace.names()).toEqual([]);
    expect(openDescriptors()).toBe(before);
  });

  it('survives an abort that comes while nobody waits for the source', async () => {
    const abort = new AbortController();
    const source = async function* (): AsyncGenerator<Uint8Array> {
      queueMicrotask(() => abort.abort());
      yield Buffer.alloc(2000);
    };
    await expect(workspace.fs.write('a', source(), { signal: abort.signal })).rejects.toMatchObject({
      code: expect.stringMatching(/too_large|aborted/),
    });
    await turn();
  });

  it('refuses to write where something other than a file is', async () => {
    await workspace.put('folder/file', 'x');
    await expect(workspace.fs.write('folder', 'x')).rejects.toMatchObject({ code: 'is_directory' });
    await expect(workspace.fs.write('folder/file/x', 'x')).rejects.toMatchObject({
      code: 'not_directory',
      path: 'folder/file',
    });
    await expect(workspace.fs.write('', 'x')).rejects.toMatchObject({ code: 'invalid_path' });
  });
});

describe('conditional writes', () => {
  it('writes only over the version that was read', async () => {
    const { entry } = await workspace.fs.write('a', 'one');
    await workspace.fs.write('a', 'two', { ifMatch: entry.etag ?? '' });
    await expect(workspace.fs.write('a', 'three', { ifMatch: entry.etag ?? '' })).rejects.toMatchObject({
      code: 'precondition_failed',
    });
    await expect(workspace.fs.write('none', 'x', { ifMatch: '*' })).rejects.toMatchObject({
      code: 'precondition_failed',
    });
    expect(readFileSync(workspace.at('a'), 'utf8')).toBe('two');
    expect(workspace.names()).toEqual(['a']);
  });

  it('notices a change in place that came while the content was on its way', async () => {
    const { entry } = await workspace.fs.write('a', 'one');
    const source = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('two');
      writeFileSync(workspace.at('a'), 'changed');
    };
    await expect(workspace.fs.write('a', source(), { ifMatch: entry.etag ?? '' })).rejects.toMatchObject({
      code: 'precondition_failed',
    });
    expect(readFileSync(workspace.at('a'), 'utf8')).toBe('changed');
  });

  it('creates only where nothing is, also when that came a moment ago', async () => {
    const source = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('late');
      writeFileSync(workspace.at('a'), 'early');
    };
    await expect(workspace.fs.write('a', source(), { ifNoneMatch: '*' })).rejects.toMatchObject({
      code: 'precondition_failed',
    });
    expect(readFileSync(workspace.at('a'), 'utf8')).toBe('early');
    expect((await workspace.fs.write('b', 'x', { ifNoneMatch: '*' })).created).toBe(true);
    expect(workspace.names()).toEqual(['a', 'b']);
    expect(statSync(workspace.at('b')).nlink).toBe(1);
  });

  it('lets exactly one of many writers with the same etag win', async () => {
    const { entry } = await workspace.fs.write('a', 'start');
    const writers = Array.from({ length: 20 }, (_, i) =>
      workspace.fs.write('a', `writer ${i}`, { ifMatch: entry.etag ?? '' }),
    );
    const outcomes = await Promise.allSettled(writers);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const creators = Array.from({ length: 20 }, () => workspace.fs.write('b', 'x', { ifNoneMatch: '*' }));
    const created = await Promise.allSettled(creators);
    expect(created.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(workspace.names()).toEqual(['a', 'b']);
  });

  it('is never seen torn by readers while writers follow each other', async () => {
    const versions = ['a', 'b', 'c'].map(letter => letter.repeat(900));
    await workspace.fs.write('file', versions[0] ?? '');
    const writes = Promise.all(
      Array.from({ length: 60 }, (_, i) => workspace.fs.write('file', versions[i % 3] ?? '')),
    );
    for (let i = 0; i < 60; i++) expect(versions).toContain((await workspace.fs.readText('file')).content);
    await writes;
  });
});

describe('new files', () => {
  const bytes = async function* (text: string) {
    yield Buffer.from(text);
  };

  it('are written by the hundred, each told of, and never over what is there', async () => {
    const placed: string[] = [];
    const note = ({ path }: { path: string }) => void placed.push(path);
    const paths = Array.from({ length: 450 }, (_, n) => `new/${n % 3}/${n}`);
    await workspace.fs.writeNew(async add => {
      for (const path of paths) await add(path, bytes(path));
    }, note);
    expect(placed).toEqual(paths);
    for (const path of paths) expect(readFileSync(workspace.at(path), 'utf8')).toBe(path);
    const over = workspace.fs.writeNew(async add => {
      await add('before', bytes('x'));
      await add('new/0/0', bytes('y'));
      await add('after', bytes('z'));
    }, note);
    await expect(over).rejects.toMatchObject({ code: 'precondition_failed', path: 'new/0/0' });
    expect(readFileSync(workspace.at('new/0/0'), 'utf8')).toBe('new/0/0');
    expect(placed.slice(450)).toEqual(['before']);
    expect(workspace.names().filter(name => !name.startsWith('new'))).toEqual(['before']);
  });

  it('leave nothing, and no descriptor open, where a source fails', async () => {
    const before = openDescriptors();
    const failing = async function* () {
      yield Buffer.from('some');
      throw new Error('broken off');
    };
    const writing = workspace.fs.writeNew(
      async add => {
        await add('a', bytes('a'));
        await add('b/c', failing());
      },
      () => undefined,
    );
    await expect(writing).rejects.toThrow('broken off');
    expect(workspace.names()).toEqual([]);
    expect(openDescriptors()).toBe(before);
  });
});

describe('edit', () => {
  it('replaces text that occurs once', async () => {
    await workspace.put('a', 'one $& two');
    const { replacements } = await workspace.fs.edit('a', { old_text: '$&', new_text: "$'$1" });
    expect(replacements).toBe(1);
    expect(readFileSync(workspace.at('a'), 'utf8')).toBe("one $'$1 two");
  });

  it('refuses text that is missing, empty or ambiguous, and says how often it occurs', async () => {
    await workspace.put('a', 'aaa\r\nbbb\r\n');
    const edit = (old_text: string) => workspace.fs.edit('a', { old_text, new_text: 'x' });
    await expect(edit('zzz')).rejects.toMatchObject({ code: 'no_match' });
    await expect(edit('')).rejects.toMatchObject({ code: 'no_match' });
    await expect(edit('aa')).rejects.toMatchObject({
      code: 'ambiguous',
      message: expect.stringContaining('2 times'),
    });
    expect(readFileSync(workspace.at('a'), 'utf8')).toBe('aaa\r\nbbb\r\n');
  });

  it.each<[string, { old_text: string; new_text: string; replace_all?: boolean }, string]>([
    ['over several lines', { old_text: 'a\nb', new_text: 'x\ny\nz' }, 'x\r\ny\r\nz\r\nc\r\na\r\n'],
    ['within one', { old_text: 'b', new_text: 'x\ny' }, 'a\r\nx\r\ny\r\nc\r\na\r\n'],
    ['at the end', { old_text: 'c\na\n', new_text: 'c\n' }, 'a\r\nb\r\nc\r\n'],
    ['as it is there', { old_text: 'a\r\nb', new_text: 'x\r\ny' }, 'x\r\ny\r\nc\r\na\r\n'],
    ['all', { old_text: 'a\n', new_text: 'x\n\n', replace_all: true }, 'x\r\n\r\nb\r\nc\r\nx\r\n\r\n'],
  ])('keeps lines that end in CR LF: %s', async (_, given, text) => {
    await workspace.put('a', 'a\r\nb\r\nc\r\na\r\n');
    await workspace.fs.edit('a', given);
    expect(readFileSync(workspace.at('a'), 'utf8')).toBe(text);
  });

  it('ends lines as those around them end where a file has both', async () => {
    await workspace.put('a', 'a\r\nb\nc\r\n');
    await workspace.fs.edit('a', { old_text: 'b\n', new_text: 'x\ny\n' });
    await workspace.fs.edit('a', { old_text: 'c', new_text: 'd\ne' });
    expect(readFileSync(workspace.at('a'), 'utf8')).toBe('a\r\nx\ny\nd\r\ne\r\n');
  });

  it('shows the first change with the lines around it', async () => {
    await workspace.put('a', Array.from({ length: 20 }, (_, i) => `line ${i + 1}\n`).join(''));
    const edit = (old_text: string, new_text: string) => workspace.fs.edit('a', { old_text, new_text });
    expect(await edit('line 10\n', 'ten\nten and a half\n')).toMatchObject({
      line: 10,
      excerpt:
        '7\tline 7\n8\tline 8\n9\tline 9\n10\tten\n11\tten and a half\n12\tline 11\n13\tline 12\n14\tline 13',
    });
    const { excerpt } = await edit('line 1\n', `${'x'.repeat(300)}\n${'y\n'.repeat(40)}`);
    expect(excerpt).toMatch(/^1\tx{200}…\n2\ty\n/);
    expect(excerpt).toMatch(/30\ty\n…$/);
  });

  it.each([
    ['  if (x) {\n    go();', 'line 2, which differs in white space:\n2\t\tif (x) {\n3\t\t\tgo();'],
    ["\tsay('hello');", 'line 4, which differs in quotes or white space'],
    ['\tif (x) {\n\t\tstop();', 'line 2, where line 3 is not "stop();"'],
    ['return total + tax', 'line 5, where line 5 is not "return total + tax"'],
  ])('says where a file comes nearest to %j, and how it differs', async (old_text, hint) => {
    await workspace.put('a', 'begin\n\tif (x) {\n\t\tgo();\n\tsay("hello");\nreturn total\n');
    await expect(workspace.fs.edit('a', { old_text, new_text: 'x' })).rejects.toThrow(hint);
  });

  it('replaces all when told to, and keeps a byte order mark', async () => {
    await workspace.put('a', '\ufeffx y x');
    const options = { old_text: 'x', new_text: 'xx', replace_all: true };
    expect(await workspace.fs.edit('a', options)).toMatchObject({ replacements: 2 });
    expect(readFileSync(workspace.at('a'), 'utf8')).toBe('\ufeffxx y xx');
  });

  it('loses none of many edits at once', async () => {
    await workspace.put('a', Array.from({ length: 20 }, (_, i) => `<${i}>`).join(''));
    const edits = Array.from({ length: 20 }, (_, i) =>
      workspace.fs.edit('a', { old_text: `<${i}>`, new_text: `[${i}]` }),
    );
    await Promise.all(edits);
    expect(readFileSync(workspace.at('a'), 'utf8')).not.toContain('<');
  });

  it('refuses an outdated etag, and bytes that are not text', async () => {
    await workspace.put('a', 'one');
    const outdated = { old_text: 'one', new_text: 'x', ifMatch: '"old"' };
    await expect(workspace.fs.edit('a', outdated)).rejects.toMatchObject({ code: 'precondition_failed' });
    await workspace.put('b', Buffer.from([0xff, 0x61]));
    await expect(workspace.fs.edit('b', { old_text: 'a', new_text: 'b' })).rejects.toMatchObject({
      code: 'not_text',
    });
  });
});
