import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Client, Json } from '../../harness/client.js';
import { folderBecomes } from '../../harness/folder.js';
import { type Person, TestService } from '../../harness/service.js';
import { Visitor } from '../../harness/visitor.js';

const LIMIT = 8 * 1024 * 1024;
const run = promisify(execFile);

let service: TestService;
let ada: Person;
let workspace: string;

beforeAll(async () => {
  service = await TestService.start({ WORKSPACE_LIMITS: `file_bytes=${LIMIT}` });
  ada = await service.person();
  workspace = await service.workspace(ada);
});
afterAll(() => service.stop());

const base = (id = workspace) => `/api/workspaces/${id}/files`;
const onDisk = (below = '', id = workspace) => path.join(service.dataDir, 'workspaces', id, below);
const query = (fields: Record<string, string>) => new URLSearchParams(fields).toString();
const files = (below: string, fields: Record<string, string> = {}) => `${base()}${below}?${query(fields)}`;
const put = (file: string, content: string | Json, client = ada.client) =>
  client.put(
    `${base()}/content`,
    typeof content === 'string' ? { path: file, content } : { path: file, ...content },
  );
const read = async (file: string) => (await ada.client.get(files('/content', { path: file }))).body.content;
const upload = (file: string, body: RequestInit['body'], headers: Record<string, string> = {}) =>
  ada.client.raw('PUT', files('/upload', { path: file }), { body, headers, duplex: 'half' } as RequestInit);
const download = (file: string, headers: Record<string, string> = {}, more: Record<string, string> = {}) =>
  ada.client.raw('GET', files('/download', { path: file, ...more }), { headers });
/** More bytes than anything here takes, of a length that is not told. */
function flood(): ReadableStream<Uint8Array> {
  let left = 500;
  return new ReadableStream({ pull: to => (left-- > 0 ? to.enqueue(new Uint8Array(100_000)) : to.close()) });
}
const names = (folder: string) => readdirSync(onDisk(folder)).sort();
/** What came of an answer that may be cut short. */
async function received({ body }: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of body ?? []) chunks.push(chunk as Uint8Array);
  } catch {
    // What came before is looked at.
  }
  return Buffer.concat(chunks);
}

describe('listing', () => {
  beforeAll(async () => {
    for (const file of ['b.txt', 'a.txt', 'sub/c.txt', 'sub/deep/d.txt', 'sub-e.txt'])
      await put(`list/${file}`, file);
  });

  it('shows a folder in byte order, each entry with its facts', async () => {
    const { status, body } = await ada.client.get(files('', { path: 'list' }));
    expect(status).toBe(200);
    expect(body.items.map((entry: Json) => entry.path)).toEqual([
      'list/a.txt',
      'list/b.txt',
      'list/sub',
      'list/sub-e.txt',
    ]);
    expect(body.items[0]).toEqual({
      path: 'list/a.txt',
      type: 'file',
      size: 5,
      modified_at: expect.stringMatching(/^\d{4}-.*Z$/),
      etag: expect.stringMatching(/^"[\w-]+"$/),
    });
    expect(body.items[2]).toMatchObject({ type: 'directory', size: 0, etag: null });
    expect(body.next_cursor).toBeNull();
  });

  it('goes through everything below, page by page', async () => {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page: Record<string, string> = {
        path: 'list',
        recursive: 'true',
        limit: '2',
        ...(cursor ? { cursor } : {}),
      };
      const { body } = await ada.client.get(files('', page));
      seen.push(...body.items.map((entry: Json) => entry.path));
      cursor = body.next_cursor ?? undefined;
    } while (cursor);
    expect(seen).toEqual(
      ['a.txt', 'b.txt', 'sub', 'sub-e.txt', 'sub/c.txt', 'sub/deep', 'sub/deep/d.txt'].map(
        name => `list/${name}`,
      ),
    );
  });

  it('goes on after paths as long as they may be, of whatever characters', async () => {
    const long = ['ü'.repeat(120), '\u0001'.repeat(250), '"'.repeat(250), 'x'.repeat(250)];
    const folder = `long/${long.join('/')}`;
    await ada.client.post(`${base()}/mkdir`, { path: folder });
    for (const file of ['1', '2', '3']) await put(`${folder}/${file}`, file);
    const first = await ada.client.get(files('', { path: folder, limit: '2' }));
    const cursor = first.body.next_cursor;
    const second = await ada.client.get(files('', { path: folder, limit: '2', cursor }));
    expect(second.body.items.map((entry: Json) => entry.path)).toEqual([`${folder}/3`]);
  });

  it.each([
    'x',
    '!!',
    'WyJhIl0x',
    'bnVsbA',
    '',
    Buffer.from('[1,2]').toString('base64url'),
    Buffer.from('["a\\u0000"]').toString('base64url'),
  ])('refuses the forged cursor "%s"', async cursor => {
    const { status, body } = await ada.client.get(files('', { path: 'list', cursor }));
    expect([status, body]).toEqual([422, { detail: 'cursor is not one that this list gave out' }]);
  });

  it('says what is no folder, or not there', async () => {
    expect((await ada.client.get(files('', { path: 'nowhere' }))).status).toBe(404);
    const { status, body } = await ada.client.get(files('', { path: 'list/a.txt' }));
    expect([status, body.detail]).toEqual([409, expect.stringContaining('is not a folder')]);
  });

  it('describes one entry, and the workspace itself', async () => {
    const { body } = await ada.client.get(files('/stat', { path: './list//a.txt' }));
    expect(body).toMatchObject({ path: 'list/a.txt', type: 'file', size: 5 });
    expect((await ada.client.get(files('/stat', { path: '' }))).body).toMatchObject({
      path: '',
      type: 'directory',
    });
    expect((await ada.client.get(files('/stat', { path: 'list/none' }))).status).toBe(404);
    expect((await ada.client.get(`${base()}/stat`)).status).toBe(422);
  });
});

describe('text', () => {
  it('comes back as it was written, by lines where asked', async () => {
    const written = await put('text/lines.txt', 'one\ntwo\r\nthree\n');
    expect(written.body).toMatchObject({ path: 'text/lines.txt', created: true, size: 15 });
    const all = await ada.client.get(files('/content', { path: 'text/lines.txt' }));
    expect(all.body).toEqual({
      path: 'text/lines.txt',
      content: 'one\ntwo\r\nthree\n',
      etag: written.body.etag,
      size: 15,
      start_line: 1,
      end_line: 3,
      total_lines: 3,
      truncated: false,
    });
    const part = await ada.client.get(
      files('/content', { path: 'text/lines.txt', start_line: '2', end_line: '2' }),
    );
    expect(part.body).toMatchObject({ content: 'two\r\n', start_line: 2, end_line: 2, total_lines: 3 });
    for (const wrong of [{ start_line: '0' }, { end_line: 'x' }] as Record<string, string>[])
      expect((await ada.client.get(files('/content', { path: 'text/lines.txt', ...wrong }))).status).toBe(
        422,
      );
  });

  it('is found by its path as commands see it, and not by those of other places', async () => {
    await put('seen/a.txt', 'one\n');
    const seen = await ada.client.get(files('/content', { path: '/workspace/seen/a.txt' }));
    expect(seen.body).toMatchObject({ path: 'seen/a.txt', content: 'one\n' });
    const other = await ada.client.get(files('/content', { path: '/etc/passwd' }));
    expect([other.status, other.body.detail]).toEqual([
      422,
      expect.stringContaining('"/etc/passwd" lies outside the workspace, which is /workspace'),
    ]);
  });

  it('is refused where it is none, and downloads as it is', async () => {
    const bytes = Buffer.from([0xff, 0x00, 0xfe]);
    await put('text/binary', { content: bytes.toString('base64'), encoding: 'base64' });
    const { status, body } = await ada.client.get(files('/content', { path: 'text/binary' }));
    expect([status, body.detail]).toEqual([
      409,
      expect.stringContaining('is not UTF-8 text; download it instead'),
    ]);
    expect(Buffer.from(await (await download('text/binary')).arrayBuffer())).toEqual(bytes);
  });

  it('arrives in base64 of many megabytes', async () => {
    const big = await service.workspace(ada);
    const bytes = randomBytes(LIMIT);
    const written = await ada.client.put(`${base(big)}/content`, {
      path: 'x',
      content: bytes.toString('base64'),
      encoding: 'base64',
    });
    expect(written.body.size).toBe(LIMIT);
    expect(readFileSync(onDisk('x', big)).equals(bytes)).toBe(true);
  });

  it.each(['a', 'YQ', 'YQ=', 'Y===', 'YQ==YQ==', 'Y Q==', 'YQ-_', 'YQ==\n', 'ü===', '%'.repeat(8)])(
    'refuses the base64 "%s"',
    async content => {
      const { status, body } = await put('text/never', { content, encoding: 'base64' });
      expect([status, body]).toEqual([422, { detail: 'content is not valid base64' }]);
      expect(names('text')).not.toContain('never');
    },
  );

  it.each([
    [{ content: 'x', encoding: 'latin1' }, 'encoding must be one of utf8, base64'],
    [{ content: 7 }, 'content must be text'],
    [{}, 'content is required'],
    [{ content: 'x', mode: '0777' }, 'mode is not a field of this request'],
  ])('refuses %j', async (fields, detail) => {
    const { status, body } = await put('text/never', fields);
    expect([status, body.detail]).toEqual([422, detail]);
  });

  it('is refused over the size limit, and nothing of it is left', async () => {
    const { status, body } = await put('text/huge.txt', 'x'.repeat(LIMIT + 1));
    expect([status, body.detail]).toEqual([413, expect.stringContaining(`larger than the ${LIMIT} bytes`)]);
    expect(names('text').filter(name => name.startsWith('huge') || name.startsWith('.'))).toEqual([]);
  });
});

describe('a form in place of the bytes of a file', () => {
  it('is refused, and nothing is stored', async () => {
    const form = new FormData();
    form.set('file', new Blob(['hello']), 'hello.txt');
    const refused = await upload('form.txt', form);
    expect([refused.status, await refused.json()]).toEqual([
      415,
      { detail: expect.stringContaining('multipart form') },
    ]);
    expect(names('')).not.toContain('form.txt');
  });
});

describe('conditions of a write', () => {
  const conditional = (file: string, headers: Record<string, string>) =>
    ada.client.with(headers).put(`${base()}/content`, { path: file, content: 'new' });

  it('are kept: the version it replaces, or that there is none', async () => {
    const { body } = await put('if/a.txt', 'old');
    expect((await conditional('if/a.txt', { 'if-match': '"other"' })).status).toBe(412);
    expect((await conditional('if/a.txt', { 'if-none-match': '*' })).status).toBe(412);
    expect((await conditional('if/b.txt', { 'if-match': '*' })).status).toBe(412);
    expect((await conditional('if/b.txt', { 'if-match': body.etag })).status).toBe(412);
    expect(await read('if/a.txt')).toBe('old');
    const replaced = await conditional('if/a.txt', { 'if-match': body.etag });
    expect([replaced.status, replaced.body.created]).toEqual([200, false]);
    const made = await conditional('if/b.txt', { 'if-none-match': '*' });
    expect([made.status, made.body.created]).toEqual([200, true]);
    const uploaded = await upload('if/a.txt', 'up', { 'if-match': body.etag });
    expect([uploaded.status, await read('if/a.txt')]).toEqual([412, 'new']);
    const edited = await ada.client
      .with({ 'if-match': body.etag })
      .post(`${base()}/edit`, { path: 'if/a.txt', old_text: 'new', new_text: 'x' });
    expect(edited.status).toBe(412);
  });

  it.each<Record<string, string>>([{ 'if-match': '"a", "b"' }, { 'if-none-match': '"a"' }])(
    'are never passed over: %j is refused',
    async headers => {
      await put('if/c.txt', 'old');
      const { status, body } = await conditional('if/c.txt', headers);
      expect([status, body.detail]).toEqual([400, expect.stringMatching(/^If-(None-)?Match takes /)]);
      expect(await read('if/c.txt')).toBe('old');
    },
  );

  it('are explained where the ETag is a weak one', async () => {
    const { body: made } = await put('if/weak.txt', 'old');
    const { status, body } = await conditional('if/weak.txt', { 'if-match': `W/${made.etag}` });
    expect([status, body.detail]).toEqual([412, expect.stringContaining('without W/')]);
    expect(await read('if/weak.txt')).toBe('old');
  });

  it('are refused where only a part is sent: it would replace the whole', async () => {
    await put('part.txt', '0123456789');
    const headers = { 'content-range': 'bytes 0-1/10' };
    const raw = await upload('part.txt', 'ab', headers);
    expect([raw.status, await raw.json()]).toEqual([
      400,
      { detail: expect.stringContaining('Content-Range') },
    ]);
    const json = await ada.client.with(headers).put(`${base()}/content`, { path: 'part.txt', content: 'ab' });
    expect(json.status).toBe(400);
    expect(await read('part.txt')).toBe('0123456789');
  });

  it('let exactly one of two writers through', async () => {
    for (let round = 0; round < 10; round++) {
      const { body } = await put('if/race.txt', `round ${round}`);
      const writers = [0, 1, 2].map(n => upload('if/race.txt', `writer ${n}`, { 'if-match': body.etag }));
      const statuses = (await Promise.all(writers)).map(({ status }) => status);
      expect([...statuses].sort()).toEqual([200, 412, 412]);
      expect(await read('if/race.txt')).toBe(`writer ${statuses.indexOf(200)}`);
    }
    for (let round = 0; round < 10; round++) {
      const makers = [0, 1, 2].map(() => upload(`if/new-${round}`, 'x', { 'if-none-match': '*' }));
      expect((await Promise.all(makers)).map(({ status }) => status).sort()).toEqual([200, 412, 412]);
    }
  });
});

describe('uploads', () => {
  it.each([
    ['application/json', '{"a": 1,  "b": [1,2 ]}\n'],
    ['application/json; charset=utf-8', 'no JSON at all {'],
    ['text/plain', 'text'],
    ['application/x-www-form-urlencoded', 'a=1&b=2'],
    ['application/octet-stream', ''],
  ])('keep the exact bytes of type %s', async (type, text) => {
    const answer = await upload('up/typed', text, { 'content-type': type });
    expect([answer.status, await answer.json()]).toEqual([
      200,
      expect.objectContaining({ path: 'up/typed', size: text.length }),
    ]);
    expect(readFileSync(onDisk('up/typed'), 'utf8')).toBe(text);
  });

  it('take chunks of unknown length, and no body at all', async () => {
    const bytes = randomBytes(1_000_000);
    const chunks = new ReadableStream({
      start(controller) {
        for (let at = 0; at < bytes.length; at += 64_000) controller.enqueue(bytes.subarray(at, at + 64_000));
        controller.close();
      },
    });
    expect((await upload('up/chunked', chunks)).status).toBe(200);
    expect(readFileSync(onDisk('up/chunked')).equals(bytes)).toBe(true);
    expect(await (await upload('up/empty', undefined)).json()).toMatchObject({ size: 0, created: true });
  });

  it('leave nothing when they are cut off in the middle', async () => {
    const ways = [{ 'content-length': '1000000' }, { 'transfer-encoding': 'chunked' }];
    const ended = ways.map(async (headers, n) => {
      const folder = `cut/${n}`;
      await ada.client.post(`${base()}/mkdir`, { path: folder });
      const sender = request(`${service.url}${files('/upload', { path: `${folder}/file` })}`, {
        method: 'PUT',
        headers: { ...ada.client.headers, ...headers },
      });
      sender.on('error', () => undefined);
      const begun = folderBecomes(onDisk(folder), found => found.some(name => name.startsWith('.')));
      sender.write(Buffer.alloc(100_000));
      await begun;
      const gone = folderBecomes(onDisk(folder), found => found.length === 0);
      sender.destroy();
      await gone;
      expect(names(folder)).toEqual([]);
    });
    await Promise.all(ended);
  });

  it('replace a file at once, which readers see whole or not yet', async () => {
    await upload('up/whole', 'a'.repeat(500_000));
    let writing = true;
    const writer = (async () => {
      for (const letter of 'bcdefgh') await upload('up/whole', letter.repeat(500_000));
      writing = false;
    })();
    while (writing) {
      const text = await (await download('up/whole')).text();
      expect([text.length, text === text.charAt(0).repeat(500_000)]).toEqual([500_000, true]);
    }
    await writer;
  });
});

describe('an upload over the limit', () => {
  const TOO_LARGE = {
    detail: expect.stringContaining(`larger than the ${LIMIT} bytes a file may have here`),
  };

  it('is refused by its length', async () => {
    const answer = await upload('over/length', Buffer.alloc(LIMIT + 1));
    expect([answer.status, await answer.json()]).toEqual([413, TOO_LARGE]);
  });

  it('is refused when chunks exceed it, and the sender sees why', async () => {
    const chunks = flood();
    const answer = await upload('over/chunked', chunks);
    expect([answer.status, await answer.json()]).toEqual([413, TOO_LARGE]);
  });

  it.each(['content-length', 'chunked'])(
    'tells a sender that reads nothing before it has sent all (%s)',
    async way => {
      const size = LIMIT * 4;
      const { port } = new URL(service.url);
      const socket = connect(Number(port), '127.0.0.1');
      const broken: Error[] = [];
      socket.on('error', error => broken.push(error));
      const head = way === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${size}`;
      const credential = Object.entries(ada.client.headers).map(([name, value]) => `${name}: ${value}`);
      socket.write(
        `PUT ${files('/upload', { path: 'over/deaf' })} HTTP/1.1\r\nHost: x\r\n${credential.join('\r\n')}\r\n${head}\r\n\r\n`,
      );
      const piece = Buffer.alloc(64 * 1024, 'x');
      for (let sent = 0; sent < size; sent += piece.length) {
        const framed =
          way === 'chunked' ? Buffer.concat([Buffer.from('10000\r\n'), piece, Buffer.from('\r\n')]) : piece;
        if (!socket.write(framed)) await once(socket, 'drain');
      }
      if (way === 'chunked') socket.write('0\r\n\r\n');
      let text = '';
      for await (const chunk of socket) text += chunk;
      expect(text).toMatch(/^HTTP\/1.1 413 /);
      expect(text.toLowerCase()).toContain('connection: close');
      expect(text).toContain(`larger than the ${LIMIT} bytes`);
      expect(broken).toEqual([]);
    },
  );

  it.each([
    ['with its length', ['-T', 'sparse']],
    ['in chunks', ['-T', 'sparse', '-H', 'Transfer-Encoding: chunked']],
    ['without asking first', ['-T', 'sparse', '-H', 'Expect:']],
  ])('is told to curl %s', async (_, how) => {
    writeFileSync(path.join(service.dataDir, 'sparse'), '');
    truncateSync(path.join(service.dataDir, 'sparse'), 256 * 1024 * 1024);
    const headers = Object.entries(ada.client.headers).flatMap(([name, value]) => [
      '-H',
      `${name}: ${value}`,
    ]);
    const address = `${service.url}${files('/upload', { path: 'over/curl' })}`;
    const { stdout } = await run('curl', ['-s', '-S', '-w', ' %{http_code}', ...headers, ...how, address], {
      cwd: service.dataDir,
    });
    expect(stdout).toMatch(/^\{"detail":".*larger than the .* 413$/);
  });

  it('leaves nothing', async () => {
    await folderBecomes(onDisk(), found => !found.some(name => name === 'over' || name.startsWith('.')));
  });

  it('is told to the sender of too much JSON as well', async () => {
    for (const body of [Buffer.alloc(20 * 1024 * 1024, ' '), flood()]) {
      const init = { body, duplex: 'half', headers: { 'content-type': 'application/json' } } as RequestInit;
      const answer = await ada.client.raw('PUT', `${base()}/content`, init);
      expect([answer.status, await answer.json()]).toEqual([
        413,
        { detail: expect.stringContaining('The body is larger than') },
      ]);
    }
  });

  it('is not taken from strangers, who are told at once', async () => {
    const stranger = await service.person('Mallory');
    const body = () => flood();
    for (const [client, status] of [
      [service.stranger, 401],
      [stranger.client, 404],
    ] as [Client, number][]) {
      const init = { body: body(), duplex: 'half' } as RequestInit;
      expect((await client.raw('PUT', files('/upload', { path: 'over/x' }), init)).status).toBe(status);
    }
  });
});

describe('downloads', () => {
  const TEXT = '0123456789';
  let etag: string;
  beforeAll(async () => {
    etag = (await put('down/digits.txt', TEXT)).body.etag;
    await put('down/empty', '');
  });

  it('carry type, length, name and validator, and may not be sniffed or run', async () => {
    const { status, headers } = await download('down/digits.txt');
    expect(status).toBe(200);
    expect(Object.fromEntries(headers)).toMatchObject({
      etag,
      'content-type': 'text/plain; charset=utf-8',
      'content-length': '10',
      'content-disposition': `attachment; filename="digits.txt"; filename*=UTF-8''digits.txt`,
      'accept-ranges': 'bytes',
      'cache-control': 'private, no-cache',
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
    });
  });

  it.each([
    ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
    ['bytes=7-', 206, '789', 'bytes 7-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=-99', 206, TEXT, 'bytes 0-9/10'],
    ['bytes=5-99', 206, '56789', 'bytes 5-9/10'],
    ['bytes=9-9', 206, '9', 'bytes 9-9/10'],
    ['Bytes=0-0', 206, '0', 'bytes 0-0/10'],
    ['bytes=3-1', 200, TEXT, null],
    ['bytes=0-1,4-5', 200, TEXT, null],
    ['items=0-1', 200, TEXT, null],
    ['bytes=-', 200, TEXT, null],
    ['bytes=x-2', 200, TEXT, null],
  ])('of %s answer %i', async (range, status, text, shown) => {
    const answer = await download('down/digits.txt', { range });
    expect([answer.status, await answer.text(), answer.headers.get('content-range')]).toEqual([
      status,
      text,
      shown,
    ]);
    expect(answer.headers.get('content-length')).toBe(String(text.length));
  });

  it.each(['bytes=10-', 'bytes=10-20', 'bytes=-0', `bytes=${'9'.repeat(30)}-`])(
    'of the range %s, which is not there, answer 416',
    async range => {
      const answer = await download('down/digits.txt', { range });
      expect([answer.status, await answer.json()]).toEqual([416, { detail: 'The file has 10 bytes' }]);
      expect(answer.headers.get('content-range')).toBe('bytes */10');
    },
  );

  it('answer a range only of the version asked for', async () => {
    expect((await download('down/digits.txt', { range: 'bytes=0-1', 'if-range': etag })).status).toBe(206);
    expect((await download('down/digits.txt', { range: 'bytes=0-1', 'if-range': '"other"' })).status).toBe(
      200,
    );
    expect((await download('down/digits.txt', { range: 'bytes=0-1', 'if-range': `W/${etag}` })).status).toBe(
      200,
    );
  });

  it('are not repeated for who has them', async () => {
    for (const value of [etag, `"x", ${etag}`, `W/${etag}`, '*']) {
      const answer = await download('down/digits.txt', { 'if-none-match': value });
      expect([answer.status, await answer.text(), answer.headers.get('etag')]).toEqual([304, '', etag]);
    }
    expect((await download('down/digits.txt', { 'if-none-match': '"x"' })).status).toBe(200);
  });

  it('work for an empty file', async () => {
    const whole = await download('down/empty');
    expect([whole.status, whole.headers.get('content-length'), await whole.text()]).toEqual([200, '0', '']);
    expect((await download('down/empty', { range: 'bytes=0-' })).status).toBe(416);
  });

  it('answer HEAD with the same facts and no bytes, however large', async () => {
    const head = await ada.client.raw('HEAD', files('/download', { path: 'down/digits.txt' }), {
      headers: { range: 'bytes=0-1' },
    });
    expect([
      head.status,
      head.headers.get('content-length'),
      head.headers.get('etag'),
      await head.text(),
    ]).toEqual([200, '10', etag, '']);
    const known = await ada.client.raw('HEAD', files('/download', { path: 'down/digits.txt' }), {
      headers: { 'if-none-match': etag },
    });
    expect(known.status).toBe(304);
    expect((await ada.client.raw('HEAD', files('/download', { path: 'down/none' }))).status).toBe(404);
  });

  it.each([
    [
      'résumé "final".pdf',
      `filename="r_sum_ _final_.pdf"; filename*=UTF-8''r%C3%A9sum%C3%A9%20%22final%22.pdf`,
    ],
    ["it's (1)*.txt", `filename="it's (1)*.txt"; filename*=UTF-8''it%27s%20%281%29%2a.txt`],
    ['日本.csv', `filename="__.csv"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.csv`],
    ['back\\slash%41;x.txt', `filename="back_slash_41;x.txt"; filename*=UTF-8''back%5Cslash%2541%3Bx.txt`],
    ['line\r\nbreak: x.txt', `filename="line__break: x.txt"; filename*=UTF-8''line%0D%0Abreak%3A%20x.txt`],
    ['🦆', `filename="__"; filename*=UTF-8''%F0%9F%A6%86`],
  ])('name the file %j', async (name, expected) => {
    expect((await put(`down/${name}`, 'x')).status).toBe(200);
    const { headers } = await download(`down/${name}`);
    expect(headers.get('content-disposition')).toBe(`attachment; ${expected}`);
  });

  it.each([
    ['a.png', 'inline'],
    ['a.txt', 'inline'],
    ['a.pdf', 'inline'],
    ['a.mp4', 'inline'],
    ['a.md', 'inline'],
    ['a.csv', 'inline'],
    ['a.json', 'inline'],
    ['a.html', 'attachment'],
    ['a.htm', 'attachment'],
    ['a.xhtml', 'attachment'],
    ['a.svg', 'attachment'],
    ['a.xml', 'attachment'],
    ['a.js', 'attachment'],
    ['a.css', 'attachment'],
    ['a.png.html', 'attachment'],
    ['html', 'attachment'],
    ['a', 'attachment'],
  ])('show %s %s', async (name, kind) => {
    await put(`down/${name}`, '<script>alert(1)</script>');
    const { headers } = await download(`down/${name}`, {}, { inline: 'true' });
    expect(headers.get('content-disposition')).toMatch(new RegExp(`^${kind};`));
    expect(headers.get('content-security-policy')).toContain('sandbox');
    expect((await download(`down/${name}`)).headers.get('content-disposition')).toMatch(/^attachment;/);
  });

  it('show Markdown as the text that it is', async () => {
    await put('down/plan.md', '# Plan <script>');
    const shown = await download('down/plan.md', {}, { inline: 'true' });
    expect([shown.headers.get('content-type'), await shown.text()]).toEqual([
      'text/plain; charset=utf-8',
      '# Plan <script>',
    ]);
    expect(shown.headers.get('x-content-type-options')).toBe('nosniff');
    expect((await download('down/plan.md')).headers.get('content-type')).toBe('text/markdown; charset=utf-8');
  });

  it('guess no type where a name tells none', async () => {
    for (const name of ['html', 'one', 'Makefile', 'a.unheard-of']) {
      await put(name, 'x');
      expect([name, (await download(name)).headers.get('content-type')]).toEqual([
        name,
        'application/octet-stream',
      ]);
    }
  });

  it('are archives of folders, and not of what is not there', async () => {
    const folder = await download('down');
    expect([folder.status, folder.headers.get('content-type')]).toEqual([200, 'application/zip']);
    await folder.arrayBuffer();
    expect((await download('down/none')).status).toBe(404);
  });

  it('close their file when the reader goes away', async () => {
    await upload('down/large', Buffer.alloc(LIMIT));
    const isOpen = (fd: string) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).endsWith('/down/large');
      } catch {
        return false;
      }
    };
    const open = () => readdirSync('/proc/self/fd').filter(isOpen).length;
    for (let n = 0; n < 30; n++) {
      const abort = new AbortController();
      const answer = await ada.client.raw('GET', files('/download', { path: 'down/large' }), {
        signal: abort.signal,
      });
      await answer.body?.getReader().read();
      expect(open()).toBeGreaterThan(0);
      abort.abort();
    }
    while (open() > 0) await sleep(50);
  });
});

describe('edits', () => {
  const edit = (fields: Json) => ada.client.post(`${base()}/edit`, { path: 'edit/a.txt', ...fields });
  beforeAll(() => put('edit/a.txt', 'one two two\n'));

  it('replace what occurs once, or all of it', async () => {
    const { status, body } = await edit({ old_text: 'one', new_text: 'zero $& $1' });
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({ path: 'edit/a.txt', type: 'file', replacements: 1 }),
    ]);
    expect(await read('edit/a.txt')).toBe('zero $& $1 two two\n');
    expect((await edit({ old_text: 'two', new_text: '', replace_all: true })).body.replacements).toBe(2);
    expect(await read('edit/a.txt')).toBe('zero $& $1  \n');
  });

  it('are refused where the text is not there, or not the only one', async () => {
    await put('edit/a.txt', 'x x');
    const none = await edit({ old_text: 'y', new_text: 'z' });
    expect([none.status, none.body.detail]).toEqual([409, expect.stringContaining('was not found in')]);
    const many = await edit({ old_text: 'x', new_text: 'z' });
    expect([many.status, many.body.detail]).toEqual([409, expect.stringContaining('occurs 2 times')]);
    expect((await edit({ old_text: '', new_text: 'z' })).status).toBe(422);
    expect((await edit({ path: 'edit/none', old_text: 'a', new_text: 'b' })).status).toBe(404);
    expect(await read('edit/a.txt')).toBe('x x');
  });

  it('are refused before the file is made that would be too large', async () => {
    await put('edit/grows.txt', 'ab'.repeat(1000));
    const grown = { path: 'edit/grows.txt', old_text: 'a', new_text: 'x'.repeat(100_000), replace_all: true };
    const { status, body } = await edit(grown);
    expect(status).toBe(413);
    expect(body.detail).toContain(
      `would have ${1000 * 100_001} bytes; a file that is edited may have ${LIMIT}`,
    );
    expect(await read('edit/grows.txt')).toBe('ab'.repeat(1000));
  });

  it('replace a hundred thousand places, in their order', async () => {
    await put('edit/many.txt', 'ab'.repeat(120_000));
    const many = { path: 'edit/many.txt', old_text: 'a', new_text: 'xy', replace_all: true };
    expect((await edit(many)).body.replacements).toBe(120_000);
    expect(await read('edit/many.txt')).toBe('xyb'.repeat(120_000));
  });

  it('take turns: none is lost among many at once', async () => {
    await put('edit/a.txt', Array.from({ length: 20 }, (_, n) => `<${n}>`).join(''));
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => edit({ old_text: `<${n}>`, new_text: `[${n}]` })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(await read('edit/a.txt')).not.toContain('<');
  });
});

describe('moving, copying, making and deleting', () => {
  const post = (verb: string, body: Json) => ada.client.post(`${base()}/${verb}`, body);
  const remove = (fields: Record<string, string>) => ada.client.delete(files('', fields));

  it('moves, over something only where told to', async () => {
    await put('mv/a.txt', 'A');
    await put('mv/b.txt', 'B');
    const taken = await post('move', { from: 'mv/a.txt', to: 'mv/b.txt' });
    expect([taken.status, taken.body.detail]).toEqual([409, expect.stringContaining('already exists')]);
    const moved = await post('move', { from: 'mv/a.txt', to: 'mv/new/c.txt' });
    expect([moved.status, moved.body]).toEqual([
      200,
      expect.objectContaining({ path: 'mv/new/c.txt', type: 'file', size: 1 }),
    ]);
    expect((await post('move', { from: 'mv/new/c.txt', to: 'mv/b.txt', overwrite: true })).status).toBe(200);
    expect(await read('mv/b.txt')).toBe('A');
    expect((await post('move', { from: 'mv/none', to: 'mv/x' })).status).toBe(404);
    expect((await post('move', { from: 'mv', to: 'mv/new/inner' })).status).toBe(422);
    expect((await post('move', { from: 'mv/b.txt' })).status).toBe(422);
  });

  it('copies files and folders, and says what it leaves out', async () => {
    await put('cp/from/a.txt', 'A');
    symlinkSync('/etc/passwd', onDisk('cp/from/link'));
    const { status, body } = await post('copy', { from: 'cp/from', to: 'cp/to' });
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({ path: 'cp/to', type: 'directory', skipped: ['cp/from/link'] }),
    ]);
    expect(await read('cp/to/a.txt')).toBe('A');
    expect(names('cp/to')).toEqual(['a.txt']);
    expect((await post('copy', { from: 'cp/from/a.txt', to: 'cp/to/a.txt' })).status).toBe(409);
    expect((await post('copy', { from: 'cp', to: 'cp/to/again' })).status).toBe(422);
  });

  it('makes folders, as many as it takes, once or twice', async () => {
    const first = await post('mkdir', { path: '/workspace/dir//a/./b/' });
    expect([first.status, first.body]).toEqual([
      200,
      expect.objectContaining({ path: 'dir/a/b', type: 'directory' }),
    ]);
    expect((await post('mkdir', { path: 'dir/a/b' })).status).toBe(200);
    await put('dir/file', 'x');
    expect((await post('mkdir', { path: 'dir/file' })).status).toBe(409);
    expect((await post('mkdir', { path: 'dir/file/below' })).status).toBe(409);
  });

  it('deletes files, and folders that hold something only where told to', async () => {
    await put('rm/a/b.txt', 'B');
    expect((await remove({ path: 'rm/none' })).status).toBe(404);
    const full = await remove({ path: 'rm/a' });
    expect([full.status, full.body.detail]).toEqual([409, expect.stringContaining('is not empty')]);
    expect((await remove({ path: 'rm//a/./b.txt' })).body).toEqual({ path: 'rm/a/b.txt', deleted: true });
    await put('rm/a/c/d.txt', 'D');
    expect((await remove({ path: 'rm', recursive: 'true' })).body).toEqual({ path: 'rm', deleted: true });
    expect(names('').includes('rm')).toBe(false);
    for (const root of ['', '/', '.'])
      expect((await remove({ path: root, recursive: 'true' })).status).toBe(422);
  });
});

/** Every way to name a path, and every way to write one. */
const reads = (file: string): [string, string, Json?][] => [
  ['GET', files('', { path: file })],
  ['GET', files('/stat', { path: file })],
  ['GET', files('/content', { path: file })],
  ['GET', files('/download', { path: file })],
];
const writes = (file: string): [string, string, Json?][] => [
  ['PUT', `${base()}/content`, { path: file, content: 'pwned' }],
  ['PUT', files('/upload', { path: file })],
  ['POST', `${base()}/edit`, { path: file, old_text: 'root', new_text: 'pwned' }],
  ['POST', `${base()}/move`, { from: file, to: 'moved' }],
  ['POST', `${base()}/move`, { from: 'hostile/own.txt', to: file, overwrite: true }],
  ['POST', `${base()}/copy`, { from: file, to: 'copied' }],
  ['POST', `${base()}/copy`, { from: 'hostile/own.txt', to: file, overwrite: true }],
  ['POST', `${base()}/mkdir`, { path: file }],
  ['DELETE', files('', { path: file, recursive: 'true' })],
];

describe('hostile paths', () => {
  beforeAll(() => put('hostile/own.txt', 'own'));

  it.each([
    '..',
    '../x',
    'a/../../x',
    '/../etc/passwd',
    'a/..',
    `a/${'n'.repeat(300)}`,
    'é'.repeat(150),
    'a\0b',
    'x/'.repeat(101),
    'y'.repeat(5000),
    '.atelier-tmp-000000000000-000000000000000000000000',
  ])('are refused: %j', async file => {
    for (const [method, address, body] of [...reads(file), ...writes(file)]) {
      const answer = await ada.client.json(method, address, body);
      expect([method, address.slice(0, 80), answer.status]).toEqual([method, address.slice(0, 80), 422]);
      expect(answer.body).toEqual({ detail: expect.not.stringContaining(service.dataDir) });
    }
  });

  it('are refused in whatever encoding', async () => {
    for (const raw of ['%2e%2e', '%2e%2e%2f%2e%2e%2fetc%2fpasswd', '..%2f..%2fetc%2fpasswd', 'a%00b'])
      expect([raw, (await ada.client.get(`${base()}/content?path=${raw}`)).status]).toEqual([raw, 422]);
    for (const raw of ['%252e%252e%252fetc', '..%5c..%5cetc'])
      expect([raw, (await ada.client.get(`${base()}/content?path=${raw}`)).status]).toEqual([raw, 404]);
    expect((await ada.client.get(`${base()}/content?path=a&path=b`)).status).toBe(422);
    expect((await ada.client.get(`${base()}/content?path=%ff`)).status).toBeLessThan(500);
  });
});

describe('a workspace that code has prepared', () => {
  const SECRET = 'root of all evil';
  let outside: string;
  beforeAll(() => {
    outside = path.join(service.dataDir, 'outside');
    mkdirSync(path.join(outside, 'sub'), { recursive: true });
    writeFileSync(path.join(outside, 'secret.txt'), SECRET);
    mkdirSync(onDisk('trap'));
    symlinkSync('/etc/passwd', onDisk('trap/passwd'));
    symlinkSync(path.join(outside, 'secret.txt'), onDisk('trap/secret'));
    symlinkSync(outside, onDisk('trap/folder'));
    symlinkSync('..', onDisk('trap/up'));
    symlinkSync('loop', onDisk('trap/loop'));
  });
  const untouched = () => {
    expect(readFileSync(path.join(outside, 'secret.txt'), 'utf8')).toBe(SECRET);
    expect(readdirSync(outside).sort()).toEqual(['secret.txt', 'sub']);
    expect(readFileSync('/etc/passwd', 'utf8')).not.toContain('pwned');
  };

  it.each([
    'trap/passwd',
    'trap/secret',
    'trap/folder',
    'trap/folder/secret.txt',
    'trap/folder/new.txt',
    'trap/up/trap/secret',
    'trap/loop',
  ])('leads nowhere through the link %s', async file => {
    for (const [method, address, body] of [...reads(file), ...writes(file)]) {
      // A link itself may be described, renamed and deleted, as may any other name.
      const onLink = address.includes('/stat?') || address.includes('/move') || method === 'DELETE';
      if (onLink && !file.startsWith('trap/folder/')) continue;
      const { status, body: answer } = await ada.client.json(method, address, body);
      expect([method, address, status]).toEqual([method, address, 409]);
      expect(answer.detail).toMatch(/is a symbolic link|is not a folder/);
      expect(JSON.stringify(answer)).not.toContain(SECRET);
    }
    untouched();
  });

  it('shows links as links, and deletes them without what they point to', async () => {
    const { body } = await ada.client.get(files('', { path: 'trap', recursive: 'true' }));
    expect(body.items.map(({ path: at, type }: Json) => [at, type])).toEqual(
      ['folder', 'loop', 'passwd', 'secret', 'up'].map(name => [`trap/${name}`, 'symlink']),
    );
    symlinkSync(outside, onDisk('trap/doomed'));
    expect((await ada.client.delete(files('', { path: 'trap/doomed', recursive: 'true' }))).status).toBe(200);
    untouched();
  });

  it('does not hold a request up with a pipe', async () => {
    await run('mkfifo', [onDisk('trap/pipe')]);
    for (const [method, address, body] of [
      reads('trap/pipe')[2],
      reads('trap/pipe')[3],
      ...writes('trap/pipe').slice(0, 3),
    ] as [string, string, Json?][]) {
      const { status, body: answer } = await ada.client.json(method, address, body);
      expect([method, address, status]).toEqual([method, address, 409]);
      expect(answer.detail).toContain('is not a regular file but a pipe, socket or device');
    }
    rmSync(onDisk('trap/pipe'));
  });

  it('leads nowhere while a folder is swapped for a link in a loop', async () => {
    await put('swap/dir/secret.txt', 'own');
    const aside = path.join(service.dataDir, 'aside');
    mkdirSync(aside);
    let swapping = true;
    // The service may have made or removed the folder at any point of the loop.
    const crossed = () => undefined;
    const swapper = (async () => {
      for (let n = 0; swapping; n++) {
        await rename(onDisk('swap/dir'), path.join(aside, `folder-${n}`)).catch(crossed);
        await symlink(outside, onDisk('swap/dir')).catch(crossed);
        await mkdir(path.join(aside, 'next'), { recursive: true });
        await writeFile(path.join(aside, 'next/secret.txt'), 'own');
        await rename(onDisk('swap/dir'), path.join(aside, `link-${n}`)).catch(crossed);
        await rename(path.join(aside, 'next'), onDisk('swap/dir')).catch(crossed);
      }
    })();
    const statuses = new Set<number>();
    const search = `/api/workspaces/${workspace}/search`;
    /** Search, by content and name, and archives go through whole trees. */
    const readsNothingOutside = async (round: number) => {
      const found = await ada.client.get(`${search}?q=${encodeURIComponent(SECRET)}&ignored=true`);
      expect([found.status, found.body.items]).toEqual([200, []]);
      expect((await ada.client.get(`${search}?q=secret.txt&in=names&path=swap`)).status).toBe(200);
      const archive = path.join(service.dataDir, `swap-${round}.zip`);
      const response = await ada.client.raw('GET', files('/download', { path: 'swap' }));
      writeFileSync(archive, await received(response));
      const { stdout } = await run('unzip', ['-p', archive]).catch(() => ({ stdout: '' })); // empty, or cut short
      expect(stdout).not.toContain(SECRET);
    };
    for (let round = 0; round < 60; round++) {
      const answers = await Promise.all([
        ada.client.get(files('/content', { path: 'swap/dir/secret.txt' })),
        ada.client.get(files('/stat', { path: 'swap/dir/secret.txt' })),
        ada.client.get(files('', { path: 'swap', recursive: 'true' })),
        ada.client.get(files('', { path: 'swap/dir' })),
        put('swap/dir/secret.txt', 'own'),
        ada.client.post(`${base()}/edit`, { path: 'swap/dir/secret.txt', old_text: 'own', new_text: 'own' }),
        ada.client.post(`${base()}/copy`, { from: 'swap/dir', to: `swap-copies/${round}` }),
        ada.client.post(`${base()}/mkdir`, { path: `swap/dir/made` }),
        ada.client.delete(files('', { path: 'swap/dir/made' })),
      ]);
      for (const { status, body } of answers) {
        statuses.add(status);
        expect(JSON.stringify(body)).not.toContain(SECRET);
      }
      if (round % 10 === 0) await readsNothingOutside(round);
    }
    swapping = false;
    await swapper;
    untouched();
    expect([...statuses].filter(status => ![200, 404, 409, 412].includes(status))).toEqual([]);
    expect(statuses.has(200)).toBe(true);
  });
});

describe('access to files', () => {
  const call = (client: Client, [method, address, body]: [string, string, Json?]) =>
    client.json(method, address, body);
  beforeAll(() => put('access/a.txt', 'A'));

  it('is not given to strangers: every route answers as if nothing were there', async () => {
    const stranger = await service.person('Mallory');
    for (const way of [...reads('access/a.txt'), ...writes('access/a.txt')]) {
      const { status, body } = await call(stranger.client, way);
      expect([way, status, body]).toEqual([way, 404, { detail: 'No such workspace' }]);
      expect((await call(service.stranger, way)).status).toBe(401);
    }
  });

  it('lets a viewer read and not write', async () => {
    const viewer = await service.person('Viewer');
    await service.join(viewer, {
      organization: ada.organizationId,
      role: 'guest',
      workspace,
      workspaceRole: 'viewer',
    });
    const [, ...ofFile] = reads('access/a.txt');
    for (const way of [['GET', files('', { path: 'access' })] as [string, string], ...ofFile.slice(0, 2)])
      expect((await call(viewer.client, way)).status).toBe(200);
    for (const way of writes('access/a.txt')) {
      const { status, body } = await call(viewer.client, way);
      expect([way, status]).toEqual([way, 403]);
      expect(body.detail).toContain('editor');
    }
  });

  it('asks a key for the scope', async () => {
    const reader = await service.key(ada, { scopes: ['files:read'] });
    const writer = await service.key(ada, { scopes: ['files:write'] });
    expect((await reader.get(files('/content', { path: 'access/a.txt' }))).status).toBe(200);
    for (const way of writes('access/a.txt'))
      expect((await call(reader, way)).body).toEqual({ detail: 'This key lacks the scope files:write' });
    for (const way of reads('access/a.txt'))
      expect((await call(writer, way)).body).toEqual({ detail: 'This key lacks the scope files:read' });
    expect((await put('access/b.txt', 'B', writer)).status).toBe(200);
  });
});

describe('a file of a gigabyte that takes no room on the disk', () => {
  const GIB = 1024 ** 3;
  const isUnread = async (work: () => Promise<unknown>) => {
    const bytesRead = () => Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
    const before = bytesRead();
    await work();
    expect(bytesRead() - before).toBeLessThan(GIB / 4);
  };
  const sparse = (file: string, beginning = '', id = workspace) => {
    mkdirSync(onDisk('sparse', id), { recursive: true });
    writeFileSync(onDisk(`sparse/${file}`, id), beginning);
    truncateSync(onDisk(`sparse/${file}`, id), GIB);
    return `sparse/${file}`;
  };

  it('is not read as text, nor are its beginning and what follows confused', async () => {
    const file = sparse('zeros.txt');
    await isUnread(async () => {
      const { status, body } = await ada.client.get(files('/content', { path: file }));
      expect([status, body.detail]).toEqual([409, expect.stringContaining('download it instead')]);
      const tool = await ada.client.post(`/api/workspaces/${workspace}/tools/read_file`, {
        input: { path: file },
      });
      expect(tool.body).toMatchObject({ is_error: true, output: expect.stringContaining('download it') });
    });
  });

  it('gives the lines at its beginning, and says that those at its end are too far', async () => {
    const file = sparse('lines.txt', `${'line\n'.repeat(8_000_000)}`);
    await isUnread(async () => {
      const at = (fields: Record<string, string>) =>
        ada.client.get(files('/content', { path: file, ...fields }));
      const some = await at({ start_line: '2', end_line: '3' });
      expect(some.body).toMatchObject({
        content: 'line\nline\n',
        size: GIB,
        total_lines: null,
        truncated: false,
      });
      const far = await at({ start_line: '7900000' });
      expect([far.status, far.body.detail]).toEqual([413, expect.stringContaining('download it')]);
    });
  });

  it('is shown, listed in the history and refused as an attachment without being read', async () => {
    const workspace_id = await service.workspace(ada);
    const path = sparse('shown.md', '# Large\n', workspace_id);
    await isUnread(async () => {
      const shared = await ada.client.post('/api/share', { workspace_id, path });
      const page = await new Visitor(service.url).visit(new URL(shared.body.url).pathname);
      expect(page.status).toBe(200);
      const versions = await ada.client.get(`${base(workspace_id)}/history?${query({ path })}`);
      expect(versions.body.items).toMatchObject([{ kept: false, not_kept_because: 'too_large' }]);
      const message = { message: 'Look', workspace_id, attachments: [path] };
      const sent = await ada.client.post('/api/agent/message', message);
      expect([sent.status, sent.body.detail]).toEqual([413, expect.stringContaining('with its tools')]);
    });
  });
});

describe('names that differ in Unicode normalization alone', () => {
  const nfc = 'größe.txt'.normalize('NFC');
  const nfd = nfc.normalize('NFD');
  const at = (name: string, action = '/content') => ada.client.get(files(action, { path: name }));

  it('open what is there under the other, as long as that is one', async () => {
    for (const [folder, there, asked] of [
      ['of-a-mac', nfd, nfc],
      ['of-others', nfc, nfd],
    ] as const) {
      await mkdir(onDisk(folder));
      await writeFile(onDisk(`${folder}/${there}`), 'x');
      const { status, body } = await at(`${folder}/${asked}`);
      expect([status, body.content, body.path]).toEqual([200, 'x', `${folder}/${there}`]);
      expect((await at(`${folder}/${asked}`, '/stat')).body.path).toBe(`${folder}/${there}`);
      await put(`${folder}/${asked}`, 'y');
      expect(readdirSync(onDisk(folder))).toEqual([there]);
      const edit = { path: `${folder}/${asked}`, old_text: 'y', new_text: 'z' };
      expect((await ada.client.post(`${base()}/edit`, edit)).body.path).toBe(`${folder}/${there}`);
      await writeFile(onDisk(`${folder}/${asked}`), 'two');
      expect([await read(`${folder}/${asked}`), await read(`${folder}/${there}`)]).toEqual(['two', 'z']);
      await ada.client.delete(files('', { path: `${folder}/${asked}` }));
      expect(readdirSync(onDisk(folder))).toEqual([there]);
      const moved = { from: `${folder}/${asked}`, to: `${folder}/moved` };
      expect((await ada.client.post(`${base()}/move`, moved)).status).toBe(200);
      expect(readdirSync(onDisk(folder))).toEqual(['moved']);
    }
  });

  it('are composed where they are uploaded anew, in a folder as it is there', async () => {
    await mkdir(onDisk('ä'.normalize('NFD')));
    await upload(`${'ä'.normalize('NFC')}/${nfd}`, 'x');
    expect(readdirSync(onDisk('ä'.normalize('NFD')))).toEqual([nfc]);
    await upload(`new/${nfd}`, 'x');
    expect(readdirSync(onDisk('new'))).toEqual([nfc]);
  });

  it('are told apart where several are like the one that is asked for', async () => {
    const [one, two, three] = ['\u1e69', 's\u0323\u0307', '\u1e63\u0307'];
    await mkdir(onDisk('forms'));
    for (const name of [one, two]) await writeFile(onDisk(`forms/${name}`), 'x');
    const { status, body } = await at(`forms/${three}`);
    expect([status, body.detail]).toEqual([404, expect.stringContaining('looks the same, but its letters')]);
  });
});
