import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import tar from 'tar-stream';
import yazl from 'yazl';
import { Toolbox } from '../../../src/agents/tools/index.js';
import type { Actor } from '../../../src/platform/access/index.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;
const scratch = mkdtempSync(path.join(tmpdir(), 'atelier-archives-'));

beforeAll(async () => {
  service = await TestService.start({ WORKSPACE_LIMITS: 'bytes=1000000,files=40' });
  ada = await service.person();
});
afterAll(async () => {
  await service.stop();
  rmSync(scratch, { recursive: true });
});

const files = (workspace: string) => `/api/workspaces/${workspace}/files`;
const folderOf = (workspace: string) => path.join(service.dataDir, 'workspaces', workspace);
const upload = (workspace: string, at: string, body: Buffer) =>
  ada.client.raw('PUT', `${files(workspace)}/upload?path=${encodeURIComponent(at)}`, {
    body: new Uint8Array(body),
  });
const extract = (workspace: string, at: string, to = 'out') =>
  ada.client.post(`${files(workspace)}/extract`, { path: at, to });
async function list(workspace: string, at: string): Promise<string[]> {
  const { body } = await ada.client.get(`${files(workspace)}?recursive=true&path=${at}`);
  return (body.items ?? []).map((entry: { path: string }) => entry.path);
}

async function tarOf(entries: [Partial<tar.Header>, string?][]): Promise<Buffer> {
  const pack = tar.pack();
  for (const [header, content = ''] of entries) pack.entry(header as tar.Header, content);
  pack.finalize();
  return buffer(pack as unknown as Readable);
}
async function zipOf(contents: Record<string, string | Buffer>): Promise<Buffer> {
  const zip = new yazl.ZipFile();
  for (const [name, content] of Object.entries(contents)) zip.addBuffer(Buffer.from(content as string), name);
  zip.end();
  return buffer(zip.outputStream as Readable);
}

describe('a folder', () => {
  it('comes as a zip with all names, and without what links lead to', async () => {
    const workspace = await service.workspace(ada);
    await upload(workspace, 'Ordner/größe 名前.txt', Buffer.from('Grüße'));
    await upload(workspace, 'Ordner/sub/b.bin', Buffer.alloc(100_000, 7));
    await ada.client.post(`${files(workspace)}/mkdir`, { path: 'Ordner/leer' });
    symlinkSync('/etc/passwd', path.join(folderOf(workspace), 'Ordner', 'link'));
    symlinkSync('/etc', path.join(folderOf(workspace), 'Ordner', 'etc'));
    const response = await ada.client.raw('GET', `${files(workspace)}/download?path=Ordner`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/zip']);
    expect(response.headers.get('content-disposition')).toContain('Ordner.zip');
    const file = path.join(scratch, 'a.zip');
    writeFileSync(file, Buffer.from(await response.arrayBuffer()));
    const out = path.join(scratch, 'a');
    mkdirSync(out);
    execFileSync('unzip', ['-q', file, '-d', out], { env: { ...process.env, LC_ALL: 'C.UTF-8' } });
    expect(readFileSync(path.join(out, 'größe 名前.txt'), 'utf8')).toBe('Grüße');
    expect(readFileSync(path.join(out, 'sub/b.bin'))).toHaveLength(100_000);
    const names = execFileSync('find', [out, '-mindepth', '1', '-printf', '%y %P\\n'], { encoding: 'utf8' });
    expect(names.trim().split('\n').sort()).toEqual(['d leer', 'd sub', 'f größe 名前.txt', 'f sub/b.bin']);

    await upload(workspace, 'again.zip', readFileSync(file));
    expect(await extract(workspace, 'again.zip')).toMatchObject({
      status: 200,
      body: { files: 2, skipped: [] },
    });
    expect(await list(workspace, 'out')).toEqual([
      'out/größe 名前.txt',
      'out/leer',
      'out/sub',
      'out/sub/b.bin',
    ]);
  });
});

describe('extracting', () => {
  it('unpacks tar and tar.gz, and leaves links and devices out', async () => {
    const workspace = await service.workspace(ada);
    const archive = await tarOf([
      [{ name: './a.txt' }, 'A'],
      [{ name: 'dir/', type: 'directory' }],
      [{ name: 'dir/b.txt' }, 'B'],
      [{ name: 'link', type: 'symlink', linkname: '/etc/passwd' }],
      [{ name: 'hard', type: 'link', linkname: '../../x' }],
      [{ name: 'null', type: 'character-device', devmajor: 1, devminor: 3 }],
    ]);
    await upload(workspace, 'x.tar', archive);
    await upload(workspace, 'x.tgz', gzipSync(archive));
    for (const [name, to] of [
      ['x.tar', 'plain'],
      ['x.tgz', 'zipped'],
    ] as const) {
      const { status, body } = await extract(workspace, name, to);
      expect([status, body.files, body.bytes, body.skipped]).toEqual([200, 2, 2, ['link', 'hard', 'null']]);
      expect(await list(workspace, to)).toEqual([`${to}/a.txt`, `${to}/dir`, `${to}/dir/b.txt`]);
    }
    await upload(workspace, 'plain/a.txt', Buffer.from('mine'));
    expect(await extract(workspace, 'x.tar', 'plain')).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('plain/a.txt') },
    });
  });

  it('unpacks more at once than have places, each whole, and no more than there is room for', async () => {
    const workspace = await service.workspace(ada);
    await upload(workspace, 'small.tar', await tarOf([[{ name: 'a' }, 'A']]));
    const small = await Promise.all(
      Array.from({ length: 12 }, (_, n) => extract(workspace, 'small.tar', `small/${n}`)),
    );
    expect(small.map(({ status }) => status)).toEqual(Array.from({ length: 12 }, () => 200));
    expect((await list(workspace, 'small')).filter(name => name.endsWith('/a'))).toHaveLength(12);

    const large = await service.workspace(ada);
    await upload(large, 'large.tar', await tarOf([[{ name: 'b' }, randomBytes(150_000).toString('hex')]]));
    const some = await Promise.all(
      Array.from({ length: 8 }, (_, n) => extract(large, 'large.tar', `large/${n}`)),
    );
    expect(some.map(({ status }) => status).sort()).toEqual([200, 200, 413, 413, 413, 413, 413, 413]);
  });

  it('gives plain reasons for what is no archive, or is encrypted', async () => {
    const workspace = await service.workspace(ada);
    await upload(workspace, 'text.zip', Buffer.from('just text'));
    await upload(workspace, 'xz.zip', Buffer.from('fd377a585a000004e6d6b446', 'hex'));
    for (const [name, detail] of [
      ['text.zip', 'The file is not a zip, tar or tar.gz archive'],
      [
        'xz.zip',
        'The file is an xz archive, and only zip, tar and tar.gz are unpacked here; pack it as one of them',
      ],
    ] as const)
      expect(await extract(workspace, name)).toMatchObject({ status: 422, body: { detail } });
  });

  it.each(['../evil', '/etc/evil', 'a/../../evil'])('refuses the path %s, and writes nothing', async name => {
    const workspace = await service.workspace(ada);
    await upload(
      workspace,
      'x.tar',
      await tarOf([
        [{ name: 'good' }, 'G'],
        [{ name }, 'E'],
      ]),
    );
    expect(await extract(workspace, 'x.tar')).toMatchObject({ status: 422 });
    expect(await list(workspace, '')).toEqual(['x.tar']);
    const zip = await zipOf({ good: 'G', [`${'x'.repeat(name.length)}`]: 'E' });
    const hostile = Buffer.from(zip.toString('latin1').replaceAll('x'.repeat(name.length), name), 'latin1');
    await upload(workspace, 'x.zip', hostile);
    expect(await extract(workspace, 'x.zip')).toMatchObject({ status: 422 });
    expect(await list(workspace, '')).toEqual(['x.tar', 'x.zip']);
  });

  it('refuses bombs, broken archives and what is none', async () => {
    const workspace = await service.workspace(ada);
    await upload(
      workspace,
      'bomb.tgz',
      gzipSync(await tarOf([[{ name: 'zeros' }, '\0'.repeat(30_000_000)]])),
    );
    expect(await extract(workspace, 'bomb.tgz')).toMatchObject({
      status: 413,
      body: { detail: expect.stringMatching(/unpacks to more than \d+ bytes/) },
    });
    await upload(workspace, 'bomb.zip', await zipOf({ zeros: Buffer.alloc(30_000_000) }));
    expect(await extract(workspace, 'bomb.zip')).toMatchObject({ status: 413 });
    const zip = await zipOf({ a: 'A'.repeat(1000) });
    await upload(workspace, 'cut.zip', zip.subarray(0, zip.length - 30));
    await upload(workspace, 'text', Buffer.from('just text'));
    for (const name of ['cut.zip', 'text'])
      expect(await extract(workspace, name)).toMatchObject({ status: 422 });
    expect(await list(workspace, 'out')).toEqual([]);
  });
});

describe('a hostile archive', () => {
  /** The central directory, and where it begins (APPNOTE.TXT 4.3.12, 4.3.16). */
  function directoryOf(zip: Buffer): { end: Buffer; records: Buffer; start: number } {
    const end = zip.subarray(zip.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1')));
    const [size, start] = [end.readUInt32LE(12), end.readUInt32LE(16)];
    return { end: Buffer.from(end), records: zip.subarray(start, start + size), start };
  }

  it('whose entries share one content is counted by what it unpacks to', async () => {
    const workspace = await service.workspace(ada);
    const zip = await zipOf({ aaaa: Buffer.alloc(1_000_000) });
    const { end, records, start } = directoryOf(zip);
    const names = Array.from({ length: 40 }, (_, n) => `a${String(n).padStart(3, '0')}`);
    const many = names.map(name => Buffer.from(records.toString('latin1').replace('aaaa', name), 'latin1'));
    const size = many.reduce((sum, { length }) => sum + length, 0);
    for (const at of [8, 10]) end.writeUInt16LE(names.length, at);
    end.writeUInt32LE(size, 12);
    await upload(workspace, 'x.zip', Buffer.concat([zip.subarray(0, start), ...many, end]));
    expect(await extract(workspace, 'x.zip')).toMatchObject({
      status: 413,
      body: { detail: expect.stringMatching(/unpacks to more than \d+ bytes/) },
    });
    expect(await list(workspace, '')).toEqual(['x.zip']);
  });

  it('that lies about a size is found out, and leaves no part of the file', async () => {
    const workspace = await service.workspace(ada);
    const zip = await zipOf({ lies: Buffer.alloc(5_000_000) });
    const { records, start, end } = directoryOf(zip);
    const lying = Buffer.from(records);
    lying.writeUInt32LE(10, 24);
    await upload(workspace, 'x.zip', Buffer.concat([zip.subarray(0, start), lying, end]));
    expect(await extract(workspace, 'x.zip')).toMatchObject({
      status: 422,
      body: { detail: expect.stringMatching(/^The archive cannot be read: .*too many bytes/) },
    });
    expect((await list(workspace, '')).filter(name => name.includes('lies'))).toEqual([]);
  });

  it('within an archive stays one', async () => {
    const workspace = await service.workspace(ada);
    const inner = await zipOf({ zeros: Buffer.alloc(900_000) });
    await upload(workspace, 'x.zip', await zipOf({ 'inner.zip': inner }));
    expect(await extract(workspace, 'x.zip')).toMatchObject({ status: 200, body: { files: 1 } });
    expect(readFileSync(path.join(folderOf(workspace), 'out/inner.zip'))).toEqual(inner);
  });

  const gnuTar = (...options: string[]): Buffer => {
    const file = path.join(scratch, 'plain');
    writeFileSync(file, 'x');
    const args = ['--format=gnu', '-P', '-cf', '-', '-C', scratch, ...options, 'plain'];
    return execFileSync('tar', args);
  };

  it.each([
    ['leads outside', `../../${'n'.repeat(120)}`, /leads outside/],
    ['is absolute', `/tmp/${'n'.repeat(120)}`, /leads outside/],
    ['is too long', 'n'.repeat(300), /longer than 255 bytes/],
    ['is too deep', 'd/'.repeat(120), /folders deep/],
  ])('with a long name as GNU tar writes it is refused where it %s', async (_, name, why) => {
    const workspace = await service.workspace(ada);
    await upload(workspace, 'x.tar', gnuTar(`--transform=s,^plain$,${name}f,`));
    expect(await extract(workspace, 'x.tar')).toMatchObject({
      status: 422,
      body: { detail: expect.stringMatching(why) },
    });
    expect(await list(workspace, '')).toEqual(['x.tar']);
  });

  it('can be repeated: files that are there as the archive has them are left alone', async () => {
    const workspace = await service.workspace(ada);
    const contents: [string, string][] = [
      ['a', 'one'],
      ['d/b', 'two'],
      ['d/c', 'x'.repeat(200_000)],
    ];
    await upload(workspace, 'x.tar', await tarOf(contents.map(([name, content]) => [{ name }, content])));
    await upload(workspace, 'x.zip', await zipOf(Object.fromEntries(contents)));
    await extract(workspace, 'x.tar');
    await ada.client.delete(`${files(workspace)}?path=out/d/b`);
    expect(await extract(workspace, 'x.zip')).toMatchObject({
      status: 200,
      body: { files: 1, unchanged: 2 },
    });
    expect(await extract(workspace, 'x.tar')).toMatchObject({
      status: 200,
      body: { files: 0, unchanged: 3 },
    });
    await upload(workspace, 'out/d/c', Buffer.from('y'.repeat(200_000)));
    await ada.client.delete(`${files(workspace)}?path=out/a`);
    expect(await extract(workspace, 'x.tar')).toMatchObject({
      status: 409,
      body: { detail: '"out/d/c" is there already, and is not as in the archive; nothing was unpacked' },
    });
    expect(await list(workspace, 'out')).not.toContain('out/a');
  });

  it('with a file of holes writes none of them', async () => {
    const workspace = await service.workspace(ada);
    const holes = path.join(scratch, 'holes');
    writeFileSync(holes, '');
    truncateSync(holes, 2 ** 30);
    await upload(workspace, 'x.tar', gnuTar('--sparse', 'holes'));
    const { status, body } = await extract(workspace, 'x.tar');
    expect([status, body.skipped]).toEqual([200, ['holes']]);
    expect(await list(workspace, 'out')).toEqual(['out/plain']);
  });

  it('keeps names of any characters, which lists and refusals show without harm', async () => {
    const workspace = await service.workspace(ada);
    const name = 'new\nline \u202egnp.exe';
    await upload(workspace, 'x.tar', await tarOf([[{ name }, 'x']]));
    expect(await extract(workspace, 'x.tar')).toMatchObject({ status: 200, body: { files: 1 } });
    expect(await list(workspace, 'out')).toEqual([`out/${name}`]);
    await upload(workspace, `out/${name}`, Buffer.from('y'));
    const { status, body } = await extract(workspace, 'x.tar');
    expect([status, body.detail]).toEqual([409, expect.stringContaining('is there already')]);
    const absent = await ada.client.get(`${files(workspace)}/content?path=${encodeURIComponent(`${name}2`)}`);
    expect(absent.status).toBe(404);
    for (const detail of [body.detail, absent.body.detail]) expect(detail).not.toMatch(/[\n\u202e]/);
  });
});

describe('quotas', () => {
  it('refuse what does not fit, with the figures, until something is deleted', async () => {
    const workspace = await service.workspace(ada);
    expect((await upload(workspace, 'big', Buffer.alloc(900_000))).status).toBe(200);
    const over = await upload(workspace, 'more', Buffer.alloc(200_000));
    expect([over.status, (await over.json()) as object]).toEqual([
      413,
      { detail: expect.stringMatching(/holds 900000 of the 1000000 bytes/) },
    ]);
    await upload(workspace, 'x.zip', await zipOf({ zeros: Buffer.alloc(300_000) }));
    expect(await extract(workspace, 'x.zip')).toMatchObject({ status: 413 });
    expect(await ada.client.post(`${files(workspace)}/copy`, { from: 'big', to: 'twice' })).toMatchObject({
      status: 413,
    });
    await ada.client.delete(`${files(workspace)}?path=big`);
    expect((await upload(workspace, 'more', Buffer.alloc(200_000))).status).toBe(200);
  });

  it('hold for uploads that come at once, also where nobody says how long they are', async () => {
    for (const isTold of [true, false]) {
      const workspace = await service.workspace(ada);
      const sent = Array.from({ length: 8 }, () => Buffer.alloc(300_000)).map((body, n) => {
        const stream = new ReadableStream({
          start(controller) {
            for (let at = 0; at < body.length; at += 10_000)
              controller.enqueue(body.subarray(at, at + 10_000));
            controller.close();
          },
        });
        return ada.client.raw('PUT', `${files(workspace)}/upload?path=f${n}`, {
          body: isTold ? new Uint8Array(body) : stream,
          ...(isTold ? {} : { duplex: 'half' }),
        });
      });
      const statuses = (await Promise.all(sent)).map(({ status }) => status);
      const stored = (await list(workspace, '')).length;
      expect([isTold, statuses.filter(status => status === 200).length]).toEqual([isTold, stored]);
      expect(stored).toBeLessThanOrEqual(3);
      expect(statuses.filter(status => status !== 200)).toEqual(Array(8 - stored).fill(413));
    }
  });

  it('count files too, and what a sandbox made', async () => {
    const workspace = await service.workspace(ada);
    const { id, email } = ada;
    const limits = { scopes: null, organization_id: null, workspace_ids: null, expires_at: null };
    const actor: Actor = {
      type: 'user',
      id,
      name: 'Ada',
      email,
      credential: { type: 'session', id, ...limits },
    };
    const context = { actor, workspaceId: workspace, signal: new AbortController().signal };
    const bash = (command: string) =>
      service.app.get(Toolbox, { strict: false }).run(context, 'bash', { command });
    expect(await bash('for i in $(seq 41); do echo > f$i; done')).toMatchObject({ isError: false });
    expect((await upload(workspace, 'one', Buffer.from('1'))).status).toBe(409);
    expect(await bash('true')).toMatchObject({
      isError: true,
      output: expect.stringContaining('41 of the 40 files'),
    });
    for (const name of ['f1', 'f2']) await ada.client.delete(`${files(workspace)}?path=${name}`);
    expect((await upload(workspace, 'one', Buffer.from('1'))).status).toBe(200);
    expect(await bash('true')).toMatchObject({ isError: false });
  });

  it('count folders, also those that a move or an archive makes', async () => {
    const workspace = await service.workspace(ada);
    const folders = await tarOf(
      Array.from({ length: 41 }, (_, n) => [{ name: `d${n}/`, type: 'directory' as const }]),
    );
    const elsewhere = await service.workspace(ada);
    await upload(elsewhere, 'x.tar', folders);
    expect(await extract(elsewhere, 'x.tar')).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('this makes 42 more') },
    });
    expect(await list(elsewhere, '')).toEqual(['x.tar']);
    const post = async (what: string, body: object) =>
      (await ada.client.post(`${files(workspace)}/${what}`, body)).status;
    for (let n = 0; n < 39; n++) expect(await post('mkdir', { path: `d${n}` })).toBe(200);
    expect(await post('mkdir', { path: 'a/b' })).toBe(409);
    expect(await post('mkdir', { path: 'a' })).toBe(200);
    expect(await post('mkdir', { path: 'a' })).toBe(200);
    expect(await post('move', { from: 'd1', to: 'x/y/d1' })).toBe(409);
    expect(await post('move', { from: 'd1', to: 'a/d1' })).toBe(200);
  });
});

it('an edit counts by what it makes of the file, before it is made', async () => {
  const workspace = await service.workspace(ada);
  await ada.client.put(`${files(workspace)}/content`, { path: 'a.txt', content: 'ab'.repeat(50) });
  const edit = { path: 'a.txt', old_text: 'a', new_text: 'x'.repeat(100_000), replace_all: true };
  const { status, body } = await ada.client.post(`${files(workspace)}/edit`, edit);
  expect([status, body.detail]).toEqual([413, expect.stringContaining('this takes 4999950 more')]);
  expect((await ada.client.get(`${files(workspace)}/stat?path=a.txt`)).body.size).toBe(100);
});
