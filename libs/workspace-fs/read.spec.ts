import { once } from 'node:events';
import { truncateSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { MAX_COUNTED_BYTES } from './read-text.js';
import { openDescriptors, TestWorkspace } from './workspace.fixture.js';

let workspace: TestWorkspace;
let descriptors: number;
beforeEach(async () => {
  workspace = await TestWorkspace.make();
  descriptors = openDescriptors();
});
afterEach(async () => {
  expect(openDescriptors()).toBe(descriptors);
  await workspace.remove();
});

describe('stat', () => {
  it('describes files, folders and the root', async () => {
    await workspace.put('a/b', '12345');
    expect(await workspace.fs.stat('/workspace/a/b')).toEqual({
      path: 'a/b',
      type: 'file',
      size: 5,
      modified_at: expect.stringMatching(/^\d{4}-.*Z$/),
      etag: expect.stringMatching(/^"[a-z0-9-]+"$/),
    });
    expect(await workspace.fs.stat('a')).toMatchObject({ path: 'a', type: 'directory', size: 0, etag: null });
    expect(await workspace.fs.stat('.')).toMatchObject({ path: '', type: 'directory' });
  });

  it('names what is missing, never a path of the machine', async () => {
    await workspace.put('file');
    await expect(workspace.fs.stat('no/such')).rejects.toMatchObject({
      code: 'not_found',
      path: 'no',
      message: '"no" does not exist',
    });
    await expect(workspace.fs.stat('file/x')).rejects.toMatchObject({ code: 'not_directory', path: 'file' });
  });
});

describe('openRead', () => {
  it('streams a file or a range of it, both ends included', async () => {
    await workspace.put('a', '0123456789');
    const read = async (range?: { start?: number; end?: number }) =>
      text((await workspace.fs.openRead('a')).stream(range));
    expect(await read()).toBe('0123456789');
    expect(await read({ start: 2, end: 4 })).toBe('234');
    expect(await read({ start: 7 })).toBe('789');
    expect(await read({ end: 100 })).toBe('0123456789');
    expect(await read({ start: 100 })).toBe('');
  });

  it('streams files of many chunks', async () => {
    await workspace.put('big', Buffer.alloc(900_000, 'x'));
    expect(await text((await workspace.fs.openRead('big')).stream())).toBe('x'.repeat(900_000));
  });

  it('holds on to the version that was opened', async () => {
    await workspace.fs.write('a', 'old');
    const file = await workspace.fs.openRead('a');
    await workspace.fs.write('a', 'new!');
    expect(file.entry.size).toBe(3);
    expect(await text(file.stream())).toBe('old');
  });

  it('closes when it is closed, or its stream destroyed', async () => {
    await workspace.put('a', 'x');
    const unread = await workspace.fs.openRead('a');
    await unread.close();
    await unread.close();
    const stream = (await workspace.fs.openRead('a')).stream();
    stream.destroy();
    await once(stream, 'close');
    const both = await workspace.fs.openRead('a');
    const left = both.stream();
    left.resume();
    await both.close();
    if (!left.closed) await once(left, 'close');
  });

  it('fails, rather than end, when the file is cut short meanwhile', async () => {
    await workspace.put('a', Buffer.alloc(1_000_000));
    const stream = (await workspace.fs.openRead('a')).stream();
    truncateSync(workspace.at('a'), 10);
    await expect(text(stream)).rejects.toMatchObject({ code: 'busy' });
  });

  it('refuses folders', async () => {
    await expect(workspace.fs.openRead('')).rejects.toMatchObject({ code: 'is_directory' });
    await workspace.fs.mkdir('a');
    await expect(workspace.fs.openRead('a')).rejects.toMatchObject({ code: 'is_directory' });
    await expect(workspace.fs.readText('a')).rejects.toMatchObject({ code: 'is_directory' });
  });
});

describe('readBytes', () => {
  it('reads a whole file, but no more than asked for', async () => {
    await workspace.put('a', Buffer.from([0, 255, 1]));
    expect([...(await workspace.fs.readBytes('a'))]).toEqual([0, 255, 1]);
    await expect(workspace.fs.readBytes('a', 2)).rejects.toMatchObject({ code: 'too_large' });
  });

  it('does not take up memory for a file that only pretends to be large', async () => {
    await workspace.put('sparse');
    truncateSync(workspace.at('sparse'), 2 ** 40);
    await expect(workspace.fs.readBytes('sparse')).rejects.toMatchObject({ code: 'too_large' });
    await expect(workspace.fs.copy('sparse', 'b')).rejects.toMatchObject({ code: 'too_large' });
    await expect(workspace.fs.edit('sparse', { old_text: 'a', new_text: 'b' })).rejects.toMatchObject({
      code: 'too_large',
    });
    expect((await workspace.fs.search({ query: 'x' })).truncated).toBe(true);
  });
});

describe('readText', () => {
  it.each([
    ['', {}, '', 1, 0, 0],
    ['a', {}, 'a', 1, 1, 1],
    ['a\nb\n', {}, 'a\nb\n', 1, 2, 2],
    ['a\nb\nc', { start_line: 2 }, 'b\nc', 2, 3, 3],
    ['a\nb\nc\n', { start_line: 2, end_line: 2 }, 'b\n', 2, 2, 3],
    ['a\r\nb\r\n', { end_line: 1 }, 'a\r\n', 1, 1, 2],
    ['a\nb\n', { start_line: 9 }, '', 9, 8, 2],
    ['a\nb\n', { start_line: 2, end_line: 1 }, '', 2, 1, 2],
    ['\n\n\n', { start_line: 2, end_line: 3 }, '\n\n', 2, 3, 3],
    ['\ufeffa', {}, '\ufeffa', 1, 1, 1],
  ])('reads lines of %j with %j', async (file, options, content, start_line, end_line, total_lines) => {
    await workspace.put('a', file);
    const { etag } = await workspace.fs.stat('a');
    expect(await workspace.fs.readText('a', options)).toEqual({
      path: 'a',
      content,
      etag,
      size: Buffer.byteLength(file),
      start_line,
      end_line,
      total_lines,
      truncated: false,
    });
  });

  it('cuts after a whole line, or else after a whole character', async () => {
    await workspace.put('lines', 'aaaa\nbbbb\ncccc\n');
    expect(await workspace.fs.readText('lines', { max_bytes: 12 })).toMatchObject({
      content: 'aaaa\nbbbb\n',
      end_line: 2,
      total_lines: 3,
      truncated: true,
    });
    await workspace.put('long', 'é€😀'.repeat(10));
    for (let max_bytes = 0; max_bytes < 20; max_bytes++) {
      const { content, truncated } = await workspace.fs.readText('long', { max_bytes });
      expect(truncated).toBe(true);
      expect(content).not.toContain('\ufffd');
      expect(Buffer.byteLength(content)).toBeGreaterThan(max_bytes - 4);
    }
  });

  it('gives fewer lines where they take long to write as JSON, and goes on after them', async () => {
    await workspace.put('ends', '\n'.repeat(1000));
    const first = await workspace.fs.readText('ends', { max_bytes: 1000 });
    expect(first).toMatchObject({ end_line: 500, total_lines: 1000, truncated: true });
    const rest = await workspace.fs.readText('ends', { start_line: 501, max_bytes: 1000 });
    expect(rest).toMatchObject({ content: '\n'.repeat(500), end_line: 1000, truncated: false });
  });

  it('finds lines and characters across chunks', async () => {
    const line = `${'€'.repeat(999)}\n`;
    await workspace.put('big', line.repeat(300));
    const { content, total_lines } = await workspace.fs.readText('big', { start_line: 80, end_line: 100 });
    expect(content).toBe(line.repeat(21));
    expect(total_lines).toBe(300);
  });

  it('refuses what is not UTF-8, also outside the lines asked for', async () => {
    await workspace.put('a', Buffer.concat([Buffer.from('ok\n'), Buffer.from([0xc3])]));
    await expect(workspace.fs.readText('a', { end_line: 1 })).rejects.toMatchObject({ code: 'not_text' });
  });

  it('reads no more of a large file than it needs, and says what to do about the rest', async () => {
    const lines = 5_000_000;
    await workspace.put('large', '1234567\n'.repeat(lines));
    const part = await workspace.fs.readText('large', { start_line: 3, end_line: 4 });
    expect(part).toMatchObject({
      content: '1234567\n1234567\n',
      end_line: 4,
      total_lines: null,
      truncated: false,
    });
    const last = MAX_COUNTED_BYTES / 8;
    expect(await workspace.fs.readText('large', { start_line: last - 1 })).toMatchObject({
      content: '1234567\n1234567\n',
      end_line: last,
      total_lines: null,
      truncated: true,
    });
    const error = await workspace.fs.readText('large', { start_line: lines }).catch((found: Error) => found);
    expect(error).toMatchObject({ code: 'too_large', message: expect.stringContaining('download it') });
  });

  it('counts the lines of a file as large as that may be, and refuses NUL', async () => {
    await workspace.put('exact', '1234567\n'.repeat(MAX_COUNTED_BYTES / 8));
    const { total_lines } = await workspace.fs.readText('exact', { end_line: 1 });
    expect(total_lines).toBe(MAX_COUNTED_BYTES / 8);
    await workspace.put('nul', 'a\0b');
    await expect(workspace.fs.readText('nul')).rejects.toMatchObject({ code: 'not_text' });
  });
});
