/** What costs as much as it can is answered. How long it keeps the event loop is measured by `npm run bench -- loop`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import tar from 'tar-stream';
import { ZipWriter } from '#libs/zip-writer/index.js';
import { type Person, TestService } from '../../harness/service.js';
import { multipart, Visitor } from '../../harness/visitor.js';

/** Of a file in a form, whose part has a head of 80 KiB. */
const MAX_NAME_BYTES = 70_000;

let service: TestService;
let ada: Person;
let workspace: string;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person('Ada');
  workspace = await service.workspace(ada);
});
afterAll(() => service.stop());

function put(name: string, content: string | Buffer, id = workspace): void {
  const at = path.join(service.dataDir, 'workspaces', id, name);
  mkdirSync(path.dirname(at), { recursive: true });
  writeFileSync(at, content);
}

const MIB = 1024 * 1024;
const numbered = (count: number, write: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => write(n)).join(',');

/** Bodies that cost as much as a body of their size can. */
const HOSTILE_BODIES: Record<string, Buffer> = {
  'nested lists': Buffer.alloc(16 * MIB - 1, '['),
  'nested objects': Buffer.from('{"a":'.repeat(2 * MIB)),
  'many lists': Buffer.from(`[${numbered(3_000_000, () => '[]')}]`),
  'many keys': Buffer.from(`{${numbered(1_000_000, n => `"${n}":0`)}}`),
  'as many keys as it may have': Buffer.from(`{${numbered(20_000, n => `"${n}":0`)}}`),
  escapes: Buffer.from(`{"name":"${'\\u0041'.repeat(2_600_000)}"}`),
};

describe('a body', () => {
  it.each(Object.keys(HOSTILE_BODIES))('of %s is refused, from whomever it comes', async shape => {
    const body = HOSTILE_BODIES[shape] as Buffer;
    const headers = { 'content-type': 'application/json' };
    const login = await service.stranger.raw('POST', '/api/auth/login', { body, headers });
    expect([413, 422]).toContain(login.status);
    const known = await ada.client.raw('POST', '/api/workspaces', { body, headers });
    expect(known.status).toBe(422);
  });
});

describe('a file', () => {
  const files = () => `/api/workspaces/${workspace}/files`;
  const visit = async (file: string) => {
    const shared = await ada.client.post('/api/share', { workspace_id: workspace, path: file });
    return new Visitor(service.url).visit(new URL(shared.body.url).pathname);
  };

  it.each([
    ['brackets', 'md', '!['.repeat(195_000)],
    ['links in links', 'md', '[a](<b'.repeat(60_000)],
    ['quotes', 'md', '> '.repeat(190_000)],
    ['emphasis', 'md', '*a_ '.repeat(95_000)],
    ['addresses', 'md', 'http://a.b/'.repeat(35_000)],
    ['digits', 'csv', `a\n${'1'.repeat(390_000)}x\n`],
    ['columns', 'csv', ','.repeat(390_000)],
    ['open quotes', 'csv', '"a'.repeat(190_000)],
  ])('of %s is shown (%s)', async (name, ending, text) => {
    put(`shown/${name}.${ending}`, text);
    const { status, text: page } = await visit(`shown/${name}.${ending}`);
    expect([status, page.length > 1000]).toEqual([200, true]);
  });

  it('with more entries than an archive may have is refused', async () => {
    const zip = new ZipWriter();
    const modified = new Date();
    const entries = Array.from({ length: 60_000 }, (_, n) => zip.folder({ name: `e${n}`, modified }));
    put('many.zip', Buffer.concat([...entries, ...zip.end()]));
    const pack = tar.pack();
    for (let n = 0; n < 60_000; n++) pack.entry({ name: `e${n}` }, '');
    pack.finalize();
    put('many.tar.gz', gzipSync(await buffer(pack as unknown as NodeJS.ReadableStream), { level: 1 }));
    for (const name of ['many.zip', 'many.tar.gz']) {
      const answer = await ada.client.post(`${files()}/extract`, { path: name, to: 'out' });
      expect(answer).toMatchObject({ status: 413, body: { detail: expect.stringContaining('50000') } });
    }
  });

  it.each([
    ['line ends', '\n'],
    ['short lines', 'a\n'],
    ['quotes', '"'],
    ['signs that nobody sees', '\u0001'],
  ])('of nothing but %s is read', async (name, unit) => {
    put(`read/${name}.txt`, unit.repeat((16 * MIB) / unit.length));
    const answer = await ada.client.get(`${files()}/content?path=read/${name}.txt`);
    expect(answer).toMatchObject({ status: 200, body: { start_line: 1, truncated: true } });
  });

  it.each([
    ['nested lists', '['.repeat(30_000)],
    ['nested maps', '{a: '.repeat(15_000)],
    ['block lists', '- '.repeat(30_000)],
    ['keys', Array.from({ length: 8000 }, (_, n) => `k${n}: 1`).join('\n')],
    ['anchors', `a: &a [${'*a,'.repeat(15_000)}]`],
    ['an open text', `a: "${'\\x'.repeat(20_000)}`],
    ['questions', '? '.repeat(30_000)],
  ])('that describes an agent by %s is listed', async (name, yaml) => {
    put('.agents/hostile.md', `---\n${yaml}\n---\nDo ${name}.\n`);
    const answer = await ada.client.get(`/api/workspaces/${workspace}/agents`);
    expect(answer.status).toBe(200);
  });

  it.each([
    ['as long as is read', (n: number) => `k${n}: "\\x"`, 8_000],
    ['much longer than is read', (n: number) => `k${n}: 1`, 60_000],
  ])('that describes an agent, of which there are many, %s is listed', async (kind, line, characters) => {
    const others = await service.workspace(ada);
    const yaml = Array.from({ length: 10_000 }, (_, n) => line(n))
      .join('\n')
      .slice(0, characters);
    for (let n = 0; n < 60; n++) put(`.agents/${n}.md`, `---\n${yaml}\n---\nDo ${kind}.\n`, others);
    const answer = await ada.client.get(`/api/workspaces/${others}/agents`);
    expect(answer.status).toBe(200);
  });
});

describe('a file that is handed in', () => {
  it.each([
    ['letters', 'a'],
    ['dots', '.'],
    ['dots and letters', `${'.'.repeat(30_000)}a`],
    ['combining marks', '\u0301\u0316'],
  ])('under a name of %s that fills the head of its part is taken', async (_, unit) => {
    put('taken/first.txt', 'there');
    const shared = await ada.client.post('/api/share', {
      workspace_id: workspace,
      path: 'taken',
      allow: 'upload',
    });
    const { pathname } = new URL(shared.body.url);
    const name = unit.repeat(MAX_NAME_BYTES / Buffer.byteLength(unit));
    const answer = await new Visitor(service.url).visit(`${pathname}/upload`, multipart([[name, 'x']]));
    expect(answer.status).toBe(200);
  });
});
