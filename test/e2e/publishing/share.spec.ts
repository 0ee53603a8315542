import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ALLOWS_LOCAL_TIMES, LOCAL_TIMES } from '../../../src/platform/pages/index.js';
import { VisitCounts } from '../../../src/publishing/share/index.js';
import { NoRoom, WorkspaceQuota } from '../../../src/workspaces/changes/index.js';
import { Client, type Json } from '../../harness/client.js';
import { folderBecomes } from '../../harness/folder.js';
import { type Person, TestService } from '../../harness/service.js';
import { prolongWaits } from '../../harness/sign-in-waits.js';
import { form, multipart, SHARE_HOST, Visitor } from '../../harness/visitor.js';

const UNKNOWN = `/s/${'x'.repeat(43)}`;
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

let service: TestService;
let ada: Person;
let workspace: string;
let folder: string;
let visit: Visitor['visit'];

beforeAll(async () => {
  service = await TestService.start({ WORKSPACE_LIMITS: 'file_bytes=2000000' });
  ({ visit } = new Visitor(service.url));
  ada = await service.person();
  workspace = await service.workspace(ada);
  folder = path.join(service.dataDir, 'workspaces', workspace);
  put(
    'site/README.md',
    '# Field notes\n\n<script>alert(1)</script>\n\n[more](<notes/a b.md>) [evil](javascript:alert(1))\n\n![pic](pic.png) ![spy](https://spy.example/x.png)\n',
  );
  put('site/notes/a b.md', '# Inner\n\n[up](../data.csv)\n');
  put('site/data.csv', 'name;amount\n"Ada; L.";12,5\n<b>x</b>;7\n');
  put('site/code.ts', 'const a = 1 < 2;\nlet b = "<img>";\n');
  put('site/page.html', '<script>fetch("/api/auth/me")</script>');
  put('site/draw.svg', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
  put('site/pic.png', PNG);
  put('site/blob.bin', Buffer.from([0, 1, 2, 255]));
  put('site/.env', 'SECRET=1');
  put('site/.git/config', 'x');
  put('secret.txt', 'not shared');
  symlinkSync('/etc/passwd', path.join(folder, 'site/passwd'));
  symlinkSync('..', path.join(folder, 'site/up'));
});
afterAll(() => service.stop());

function put(name: string, content: string | Buffer): void {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
}

async function share(fields: Json = {}, by = ada): Promise<Json & { at: string }> {
  const { status, body } = await by.client.post('/api/share', {
    workspace_id: workspace,
    path: 'site',
    ...fields,
  });
  if (status !== 200) throw new Error(`sharing answered ${status}: ${JSON.stringify(body)}`);
  return { ...body, at: new URL(body.url).pathname };
}

const storeCounts = (): Promise<void> => service.app.get(VisitCounts, { strict: false }).flush();

describe('a share link', () => {
  it('is made, shown again with its link, listed, changed and revoked', async () => {
    const made = await share({ allow: 'download', password: 'open sesame' });
    expect(made).toMatchObject({
      workspace_id: workspace,
      path: 'site',
      allow: 'download',
      has_password: true,
      state: 'active',
      views: 0,
      created_by: ada.id,
    });
    expect(made.url).toMatch(/^http:\/\/share\.localhost(:\d+)?\/s\/[\w-]{43}$/);
    const { at: _, ...view } = made;
    expect((await ada.client.get(`/api/share/${made.id}`)).body).toEqual(view);
    for (const list of [
      '/api/share',
      `/api/share?workspace_id=${workspace}`,
      `/api/workspaces/${workspace}/shares`,
    ])
      expect((await ada.client.get(list)).body.items).toContainEqual(view);
    const changed = await ada.client.patch(`/api/share/${made.id}`, { allow: 'view', password: null });
    expect(changed.body).toMatchObject({ allow: 'view', has_password: false, url: made.url });
    expect((await visit(made.at)).status).toBe(200);
    expect((await ada.client.delete(`/api/share/${made.id}`)).body).toEqual({ id: made.id, deleted: true });
    expect((await visit(made.at)).status).toBe(404);
    expect((await ada.client.get(`/api/share/${made.id}`)).status).toBe(404);
  });

  it('lies in the database without its token or its password', async () => {
    const made = await share({ password: 'open sesame' });
    const rows = await service.database.query<Json>('select * from share_link where id = $1', [made.id]);
    const row = JSON.stringify(rows);
    expect(row).not.toContain(made.at.slice(3));
    expect(row).not.toContain('open sesame');
    expect(rows[0].password_hash).toMatch(/^\$argon2id\$/);
  });

  it.each([
    ['a path that leads out', { path: '../x' }, 422],
    ['what is not there', { path: 'nothing' }, 404],
    ['a link', { path: 'site/passwd' }, 409],
    ['uploads to a file', { path: 'secret.txt', allow: 'upload' }, 409],
    ['an end in the past', { expires_at: '2020-01-01T00:00:00Z' }, 422],
    ['a short password', { password: 'abc' }, 422],
  ])('is refused for %s', async (_, fields, status) => {
    const answer = await ada.client.post('/api/share', { workspace_id: workspace, path: 'site', ...fields });
    expect(answer.status).toBe(status);
  });

  it('is seen by viewers without the link, and managed by editors alone', async () => {
    const made = await share();
    const viewer = await service.person('Vera');
    const place = { organization: ada.organizationId, role: 'guest', workspace };
    await service.join(viewer, { ...place, workspaceRole: 'viewer' });
    expect((await viewer.client.get(`/api/share/${made.id}`)).body).toMatchObject({ id: made.id, url: null });
    expect((await viewer.client.delete(`/api/share/${made.id}`)).status).toBe(403);
    const mallory = await service.person('Mallory');
    expect((await mallory.client.get(`/api/share/${made.id}`)).status).toBe(404);
    expect((await mallory.client.delete(`/api/share/${made.id}`)).status).toBe(404);
    expect((await viewer.client.delete(`/api/share/${made.id}`)).status).toBe(403);
  });

  it('gives a key no more than its scopes: no link to files it may not read', async () => {
    const key = await service.key(ada, { scopes: ['shares:read', 'shares:write'] });
    const refused = await key.post('/api/share', { workspace_id: workspace, path: 'site' });
    expect(refused.status).toBe(403);
    expect(refused.body.detail).toContain('files:read');
    const made = await share();
    expect((await key.get(`/api/share/${made.id}`)).body.url).toBeNull();
    expect((await key.patch(`/api/share/${made.id}`, { allow: 'download' })).status).toBe(403);
  });

  it('is in the audit log, without its secrets', async () => {
    const made = await share({ password: 'open sesame' });
    await ada.client.delete(`/api/share/${made.id}`);
    const { body } = await ada.client.get(`/api/organizations/${ada.organizationId}/audit?limit=200`);
    const told = body.items.filter(({ target }: Json) => target.id === made.id);
    expect(told.map(({ action }: Json) => action).sort()).toEqual(['share.create', 'share.revoke']);
    expect(JSON.stringify(told)).not.toContain(made.at.slice(3));
    expect(JSON.stringify(told)).not.toContain('open sesame');
  });
});

describe('the pages of a folder', () => {
  let at: string;
  beforeAll(async () => {
    at = (await share({ allow: 'download' })).at;
  });

  it('list what is there, folders first, without links, hidden names or what lies beside', async () => {
    const { status, text, headers } = await visit(at);
    expect(status).toBe(200);
    const names = [...text.matchAll(/<\/svg><span>([^<]+)<\/span>/g)].map(([, name]) => name);
    expect(names).toEqual([
      'notes',
      'blob.bin',
      'code.ts',
      'data.csv',
      'draw.svg',
      'page.html',
      'pic.png',
      'README.md',
    ]);
    for (const hidden of ['.env', '.git', 'passwd', 'secret.txt']) expect(text).not.toContain(hidden);
    const policy = String(headers['content-security-policy']);
    for (const rule of ["default-src 'none'", "frame-ancestors 'none'", 'sandbox'])
      expect(policy).toContain(rule);
    expect(policy.match(/[^;]*script[^;]*/g)).toEqual([
      ` ${ALLOWS_LOCAL_TIMES}`,
      ' sandbox allow-same-origin allow-forms allow-downloads allow-scripts',
    ]);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-store',
    });
  });

  it('show no name as another: what turns text around or stays unseen is a sign', async () => {
    put('names/photo\u202egnp.exe', 'x');
    put('names/two\nlines', 'x');
    put('names/👩‍🔬 می‌خواهم.txt', 'x');
    const { at: names } = await share({ path: 'names' });
    const { text } = await visit(names);
    expect(text).not.toMatch(/\u202e/);
    for (const shown of ['photo\ufffdgnp.exe', 'two\ufffdlines', '👩‍🔬 می‌خواهم.txt'])
      expect(text).toContain(`<span>${shown}</span>`);
    const file = await visit(`${names}/path/${encodeURIComponent('photo\u202egnp.exe')}`);
    expect([file.status, file.text.includes('\u202e')]).toEqual([200, false]);
  });

  it('are sorted as asked', async () => {
    const { text } = await visit(`${at}?sort=-size`);
    expect(text.indexOf('README.md</span>')).toBeLessThan(text.indexOf('blob.bin</span>'));
    expect(text).toContain('aria-sort="descending"');
  });

  it('show Markdown with its links and pictures inside the share, and nothing that runs', async () => {
    const { text } = await visit(at);
    expect(text).toContain('<h1>Field notes</h1>');
    expect(text).toContain('&lt;script&gt;');
    expect(text.replace(LOCAL_TIMES, '')).not.toContain('<script');
    expect(text).not.toContain('href="javascript');
    expect(text).toContain(`<img src="${at}/path/pic.png?raw=1"`);
    expect(text).toContain(`href="${at}/path/notes/a%20b.md"`);
    expect(text).not.toContain('<img src="https:');
    const inner = await visit(`${at}/path/notes/a%20b.md`);
    expect(inner.text).toContain(`href="${at}/path/data.csv"`);
    expect(inner.text).toContain('aria-label="Breadcrumb"');
  });

  it('show a CSV as a table, and text with line numbers, escaped', async () => {
    const csv = (await visit(`${at}/path/data.csv`)).text;
    expect(csv).toContain('<td class="">Ada; L.</td><td class="n">12,5</td>');
    expect(csv).toContain('&lt;b&gt;x&lt;/b&gt;');
    const code = (await visit(`${at}/path/code.ts`)).text;
    expect(code).toContain('<span id="L1">const a = 1 &lt; 2;</span><span id="L2">');
  });

  it('show HTML and SVG as their source, and send their bytes so that nothing in them runs', async () => {
    for (const name of ['page.html', 'draw.svg']) {
      const page = await visit(`${at}/path/${name}`);
      expect(page.text).toContain('&lt;script&gt;');
      expect(page.text.replace(LOCAL_TIMES, '')).not.toContain('<script');
      const raw = await visit(`${at}/path/${name}?raw=1`);
      expect(raw.headers['content-security-policy']).toContain('sandbox');
      expect(raw.headers['content-security-policy']).toContain("default-src 'none'");
      expect(raw.headers['content-disposition']).toMatch(/^attachment/);
      expect(raw.headers['x-content-type-options']).toBe('nosniff');
    }
  });

  it('offer to save what has no preview', async () => {
    const { text } = await visit(`${at}/path/blob.bin`);
    expect(text).toContain('There is no preview of this file');
    const saved = await visit(`${at}/path/blob.bin?download=1`);
    expect(saved.bytes).toEqual(Buffer.from([0, 1, 2, 255]));
    expect(saved.headers['content-disposition']).toMatch(/^attachment; filename="blob.bin"/);
  });

  it('send parts of a file', async () => {
    const part = await visit(`${at}/path/pic.png?raw=1`, { headers: { range: 'bytes=1-3' } });
    expect([part.status, part.text]).toEqual([206, 'PNG']);
    expect(part.headers['content-disposition']).toMatch(/^inline/);
  });

  it('send a folder as a zip, without links and hidden names', async () => {
    const { status, headers, bytes } = await visit(`${at}?download=1`);
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/zip');
    expect(headers['content-disposition']).toContain('filename="site.zip"');
    const place = mkdtempSync(path.join(tmpdir(), 'atelier-zip-'));
    try {
      writeFileSync(path.join(place, 'a.zip'), bytes);
      const list =
        'import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\nprint("\\n".join(sorted(z.namelist())))';
      const names = execFileSync('python3', ['-c', list, path.join(place, 'a.zip')])
        .toString()
        .trim()
        .split('\n');
      expect(names).toEqual([
        'README.md',
        'blob.bin',
        'code.ts',
        'data.csv',
        'draw.svg',
        'notes/',
        'notes/a b.md',
        'page.html',
        'pic.png',
      ]);
    } finally {
      rmSync(place, { recursive: true });
    }
  });

  it.each([
    '/path/../secret.txt',
    '/path/%2e%2e/secret.txt',
    '/path/..%2fsecret.txt',
    '/path/notes/..%2f..%2fsecret.txt',
    '/path/%2fetc%2fpasswd',
    '/path/passwd',
    '/path/up/secret.txt',
    '/path/up',
    '/path/.env',
    '/path/.git/config',
    '/path/notes%00',
    '/path/code.ts/x',
    '/path/%ff',
  ])('lead nowhere by %s', async tail => {
    for (const query of ['', '?raw=1', '?download=1']) {
      const { status, text } = await visit(`${at}${tail}${query}`);
      expect([400, 404]).toContain(status);
      expect(text).not.toMatch(/not shared|root:|SECRET/);
    }
  });

  it('answer 404 while what is shared is gone, and are back with it', async () => {
    put('come/go.txt', 'here');
    const one = await share({ path: 'come/go.txt' });
    const move = (from: string, to: string) =>
      ada.client.post(`/api/workspaces/${workspace}/files/move`, { from, to });
    expect((await visit(one.at)).text).toContain('here');
    await move('come/go.txt', 'come/else.txt');
    expect((await visit(one.at)).status).toBe(404);
    await move('come/else.txt', 'come/go.txt');
    expect((await visit(one.at)).status).toBe(200);
    rmSync(path.join(folder, 'come/go.txt'));
    symlinkSync('/etc/passwd', path.join(folder, 'come/go.txt'));
    expect((await visit(`${one.at}?raw=1`)).status).toBe(404);
  });

  it('count each of those that come at once', async () => {
    const one = await share({ allow: 'download' });
    const drop = await share({ path: 'come', allow: 'upload' });
    await Promise.all(Array.from({ length: 50 }, () => visit(`${one.at}/path/code.ts?download=1`)));
    await storeCounts();
    expect((await ada.client.get(`/api/share/${one.id}`)).body).toMatchObject({ views: 0, downloads: 50 });
    await visit(drop.at, { method: 'HEAD' });
    await visit(drop.at);
    await storeCounts();
    expect((await ada.client.get(`/api/share/${drop.id}`)).body).toMatchObject({ views: 1, uploads: 0 });
  });

  it('count looks and downloads', async () => {
    const one = await share({ allow: 'download' });
    await visit(one.at);
    await visit(`${one.at}/path/code.ts`);
    await visit(`${one.at}/path/pic.png?raw=1`);
    await visit(`${one.at}/path/pic.png?download=1`);
    await visit(`${one.at}/path/pic.png?download=1`, { headers: { range: 'bytes=5-' } });
    await visit(one.at, { method: 'HEAD' });
    expect((await visit(`${one.at}?download=1`, { method: 'HEAD' })).headers['content-type']).toBe(
      'application/zip',
    );
    await storeCounts();
    const { body } = await ada.client.get(`/api/share/${one.id}`);
    expect(body).toMatchObject({ views: 2, downloads: 1, uploads: 0, last_opened_at: expect.any(String) });
  });
});

describe('a link for looking only', () => {
  it('shows pictures, and gives nothing to save', async () => {
    const { at } = await share({ allow: 'view' });
    expect((await visit(at)).text).not.toContain('download=1');
    expect((await visit(`${at}/path/pic.png?raw=1`)).bytes).toEqual(PNG);
    for (const query of [
      '?download=1',
      '/path/code.ts?download=1',
      '/path/code.ts?raw=1',
      '/path/pic.png?download=1',
    ])
      expect([query, (await visit(at + query)).status]).toEqual([query, 403]);
  });
});

describe('a link with a password', () => {
  it('shows a form and nothing else until it is entered, and then a cookie for this link alone', async () => {
    const one = await share({ password: 'open sesame', path: 'site' });
    const other = await share({ password: 'open sesame' });
    for (const address of [
      one.at,
      `${one.at}/path/pic.png?raw=1`,
      `${one.at}?download=1`,
      `${one.at}/path/nope`,
    ]) {
      const { status, text } = await visit(address);
      expect(status).toBe(401);
      expect(text).toContain('type="password"');
      expect(text).not.toContain('site');
    }
    const wrong = await visit(`${one.at}/unlock`, form({ password: 'sesame' }));
    expect([wrong.status, wrong.headers['set-cookie']]).toEqual([403, undefined]);
    const right = await visit(
      `${one.at}/unlock`,
      form({ password: 'open sesame', next: `${one.at}/path/code.ts` }),
    );
    expect([right.status, right.headers.location]).toEqual([303, `${one.at}/path/code.ts`]);
    const [cookie = ''] = right.headers['set-cookie'] ?? [];
    for (const attribute of [`Path=${one.at};`, 'HttpOnly', 'SameSite=Lax'])
      expect(cookie).toContain(attribute);
    const headers = { cookie: cookie.split(';', 1).join('') };
    expect((await visit(one.at, { headers })).status).toBe(200);
    expect((await visit(other.at, { headers })).status).toBe(401);
    const longer = headers.cookie.replace(/\d{10}/, '9999999999');
    expect((await visit(one.at, { headers: { cookie: longer } })).status).toBe(401);
    await ada.client.patch(`/api/share/${one.id}`, { password: 'another one' });
    expect((await visit(one.at, { headers })).status).toBe(401);
  });

  it('sends nobody elsewhere after it', async () => {
    const { at } = await share({ password: 'open sesame' });
    for (const next of ['https://evil.example/', '//evil.example', '/api/auth/me']) {
      const { headers } = await visit(`${at}/unlock`, form({ password: 'open sesame', next }));
      expect(headers.location).toBe(at);
    }
  });

  it('makes those who guess wait, the right password included', async () => {
    const { at } = await share({ password: 'open sesame' });
    const guesses = [];
    for (let n = 0; n < 6; n++) {
      guesses.push((await visit(`${at}/unlock`, form({ password: `guess ${n}` }))).status);
      if (n === 4) await prolongWaits(service);
    }
    expect(guesses).toEqual([403, 403, 403, 403, 403, 429]);
    const right = await visit(`${at}/unlock`, form({ password: 'open sesame' }));
    expect(right.status).toBe(429);
    expect(Number(right.headers['retry-after'])).toBeGreaterThan(0);
    expect(right.text).toContain('<h1>');
  });
});

describe('fifty guesses at once', () => {
  it('are looked at no more than a few', async () => {
    const { at } = await share({ password: 'open sesame' });
    const guesses = Array.from({ length: 50 }, (_, n) => form({ password: `guess ${n}` }));
    const seen = await Promise.all(guesses.map(guess => visit(`${at}/unlock`, guess)));
    // Five, those that are being looked at by then, and one more each time a wait is over.
    expect(seen.filter(({ status }) => status === 403).length).toBeLessThanOrEqual(20);
    expect(new Set(seen.map(({ status }) => status))).toEqual(new Set([403, 429]));
  });
});

describe('a link that has ended', () => {
  it('says so when its time is over, before it asks for a password', async () => {
    const one = await share({ password: 'open sesame', expires_at: '2099-01-01T00:00:00Z' });
    expect((await visit(one.at)).status).toBe(401);
    await service.database.query("update share_link set expires_at = now() - interval '1 s' where id = $1", [
      one.id,
    ]);
    const { status, text } = await visit(one.at);
    expect([status, text.includes('expired')]).toEqual([410, true]);
    expect((await visit(`${one.at}/unlock`, form({ password: 'open sesame' }))).status).toBe(410);
    expect((await ada.client.get(`/api/share/${one.id}`)).body.state).toBe('expired');
  });

  it('is one page with those that never were', async () => {
    const revoked = await share();
    await ada.client.delete(`/api/share/${revoked.id}`);
    const pages = await Promise.all([revoked.at, UNKNOWN, '/s/x', '/s/%F0%9F%98%80'].map(at => visit(at)));
    for (const { status, text } of pages) expect([status, text]).toEqual([404, pages[0]?.text]);
  });

  it('ends with its maker’s access, and comes back with it', async () => {
    const bob = await service.person('Bob');
    const place = { organization: ada.organizationId, role: 'guest', workspace };
    await service.join(bob, { ...place, workspaceRole: 'editor' });
    const look = await share({}, bob);
    const drop = await share({ allow: 'upload' }, bob);
    const statuses = async () => [(await visit(look.at)).status, (await visit(drop.at)).status];
    expect(await statuses()).toEqual([200, 200]);
    await service.join(bob, { ...place, workspaceRole: 'viewer' });
    expect(await statuses()).toEqual([200, 404]);
    await ada.client.delete(`/api/workspaces/${workspace}/members/${bob.id}`);
    expect(await statuses()).toEqual([404, 404]);
    expect((await ada.client.get(`/api/share/${look.id}`)).body.state).toBe('suspended');
    await service.join(bob, { ...place, workspaceRole: 'editor' });
    expect(await statuses()).toEqual([200, 200]);
    await service.database.query(
      'delete from organization_member where user_id = $1 and organization_id = $2',
      [bob.id, ada.organizationId],
    );
    expect(await statuses()).toEqual([404, 404]);
  });
});

describe('a link for handing files in', () => {
  const inbox = () => readdirSync(path.join(folder, 'inbox')).sort();

  it('takes files under plain names, never over one that is there, and shows nothing of what is', async () => {
    put('inbox/report.pdf', 'the first');
    const one = await share({ path: 'inbox', allow: 'upload' });
    const page = await visit(one.at);
    expect(page.text).toContain('enctype="multipart/form-data"');
    expect(page.text).not.toContain('report.pdf');
    for (const address of [
      `${one.at}/path/report.pdf`,
      `${one.at}/path/report.pdf?raw=1`,
      `${one.at}?download=1`,
    ])
      expect((await visit(address)).text).not.toContain('the first');
    const sent = await visit(
      `${one.at}/upload`,
      multipart([
        ['report.pdf', 'the second'],
        ['../../escape.txt', 'x'],
        ['C:\\\\temp\\\\win.txt', 'x'],
        ['.bashrc', 'x'],
        ['a\u202Efdp.exe', 'x'],
        ['', ''],
      ]),
    );
    expect(sent.status).toBe(200);
    expect(inbox()).toEqual(['a_fdp.exe', 'bashrc', 'escape.txt', 'report (1).pdf', 'report.pdf', 'win.txt']);
    expect(readFileSync(path.join(folder, 'inbox/report.pdf'), 'utf8')).toBe('the first');
    expect((await ada.client.get(`/api/share/${one.id}`)).body.uploads).toBe(5);
  });

  it('keeps all of those that come at once under one name', async () => {
    mkdirSync(path.join(folder, 'crowd'), { recursive: true });
    const { at } = await share({ path: 'crowd', allow: 'upload' });
    const sent = await Promise.all(
      [1, 2, 3, 4].map(n => visit(`${at}/upload`, multipart([['same.txt', `${n}`]]))),
    );
    expect(sent.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const contents = readdirSync(path.join(folder, 'crowd')).map(name =>
      readFileSync(path.join(folder, 'crowd', name), 'utf8'),
    );
    expect(contents.sort()).toEqual(['1', '2', '3', '4']);
  });

  it('refuses what is too large, too many, or no form, and leaves nothing of it', async () => {
    mkdirSync(path.join(folder, 'limits'), { recursive: true });
    const { at } = await share({ path: 'limits', allow: 'upload' });
    const large = await visit(`${at}/upload`, multipart([['big.bin', Buffer.alloc(3_000_000)]]));
    expect(large.status).toBe(413);
    const many = await visit(`${at}/upload`, multipart(Array.from({ length: 21 }, (_, n) => [`f${n}`, 'x'])));
    expect(many.status).toBe(413);
    const cut = await visit(`${at}/upload`, {
      ...multipart([]),
      body: '--XX\r\nContent-Disposition: form-data; name="files"; filename="half.txt"\r\n\r\nhalf',
    });
    expect(cut.status).toBe(400);
    expect((await visit(`${at}/upload`, multipart([['', '']]))).status).toBe(422);
    expect((await visit(`${at}/upload`, form({ a: 'b' }))).status).toBe(415);
    const limits = path.join(folder, 'limits');
    await folderBecomes(limits, names => !names.some(name => name.startsWith('.')));
    const names = readdirSync(limits);
    expect(names).not.toContain('big.bin');
    expect(names).not.toContain('half.txt');
  });

  it('tells nobody where its folder is, nor how full the workspace', async () => {
    mkdirSync(path.join(folder, 'clients/acme/inbox'), { recursive: true });
    const { at } = await share({ path: 'clients/acme/inbox', allow: 'upload' });
    const large = await visit(`${at}/upload`, multipart([['big.bin', Buffer.alloc(3_000_000)]]));
    expect([large.status, large.text.includes('&quot;big.bin&quot; is too large')]).toEqual([413, true]);
    expect(large.text).not.toMatch(/clients|acme/);
    const { app } = service;
    jest
      .spyOn(app.get(WorkspaceQuota, { strict: false }), 'during')
      .mockRejectedValueOnce(new NoRoom(413, 'The workspace holds 5 of the 6 bytes it may have'));
    const full = await visit(`${at}/upload`, multipart([['a.bin', 'x']]));
    expect([full.status, full.text.includes('There is no room for this')]).toEqual([413, true]);
    expect(full.text).not.toContain('holds');
  });

  it('never writes through a link that stands in for its folder', async () => {
    mkdirSync(path.join(folder, 'door'), { recursive: true });
    const { at } = await share({ path: 'door', allow: 'upload' });
    rmSync(path.join(folder, 'door'), { recursive: true });
    const outside = mkdtempSync(path.join(tmpdir(), 'atelier-outside-'));
    symlinkSync(outside, path.join(folder, 'door'));
    expect((await visit(`${at}/upload`, multipart([['x.txt', 'x']]))).status).toBe(404);
    expect(readdirSync(outside)).toEqual([]);
    rmSync(outside, { recursive: true });
  });

  it('is no way in for links that only show', async () => {
    const { at } = await share({ allow: 'download' });
    expect((await visit(`${at}/upload`, multipart([['x.txt', 'x']]))).status).toBe(404);
    expect(readdirSync(path.join(folder, 'site'))).not.toContain('x.txt');
  });
});

describe('two hosts', () => {
  it('have no API on the share host, by whatever spelling, and no pages of shares on the other', async () => {
    const { at } = await share();
    const authorization = String(ada.client.headers.authorization);
    for (const host of [SHARE_HOST, `${SHARE_HOST}:80`, 'SHARE.localhost', `${SHARE_HOST}.`])
      for (const address of ['/api/health', '/api/auth/me', '/docs', '/', '/api/../s/../api/health']) {
        const { status, text } = await visit(address, { host, headers: { authorization } });
        expect([host, address, status]).toEqual([host, address, 404]);
        expect(text).not.toContain(ada.email);
      }
    const { host } = new URL(service.url);
    for (const other of [host, 'localhost', 'evil.example', 'share.localhost.evil.example']) {
      const { status, headers, text } = await visit(at, { host: other });
      expect([other, status]).toEqual([other, 308]);
      expect(headers.location).toMatch(/^http:\/\/share\.localhost(:\d+)?\/s\//);
      expect(text).not.toContain('README');
    }
    expect((await visit(`${at}/unlock`, { ...form({ password: 'x' }), host })).status).toBe(404);
    const token = at.slice(3);
    for (const spelt of [
      `/%73/${token}`,
      `/%73/${token}/path/page.html?raw=1`,
      `http://${SHARE_HOST}${at}`,
    ]) {
      const { status, text } = await visit(spelt, { host });
      expect([spelt, status, text]).toEqual([spelt, 308, '']);
    }
    const unlocking = { ...form({ password: 'x' }), host };
    expect((await visit(`/%73/${token}/unlock`, unlocking)).status).toBe(404);
    const aside = await visit(`/%73/${token}/path/code.ts`);
    expect([aside.status, aside.text.includes('<title>code.ts')]).toEqual([200, true]);
    for (const address of [`${at}/`, `${at}/x`, `${at}/../../api/health`]) {
      const { status, headers } = await visit(address);
      expect([address, status, headers['content-type']]).toEqual([address, 404, 'text/html; charset=utf-8']);
    }
    const forwarded = { 'x-forwarded-host': SHARE_HOST };
    expect((await visit(at, { host, headers: forwarded })).status).toBe(308);
    expect((await visit('/robots.txt')).text).toContain('Disallow: /');
  });
});

describe('what is exposed', () => {
  it('is one list: all of it for admins, who may end it, and for others what they may manage', async () => {
    const owner = await service.person('Olga');
    const organization = owner.organizationId;
    const member = await service.person('Max');
    await service.join(member, { organization, role: 'member' });
    const open = await service.workspace(owner, { organization_id: organization });
    const hidden = await service.workspace(member, { organization_id: organization, visibility: 'private' });
    const restricted = await service.workspace(owner, {
      organization_id: organization,
      visibility: 'restricted',
    });
    await service.join(member, {
      organization,
      role: 'member',
      workspace: restricted,
      workspaceRole: 'viewer',
    });
    const links: Record<string, Json> = {};
    for (const [id, person] of [
      [open, owner],
      [hidden, member],
      [restricted, owner],
    ] as const) {
      await person.client.put(`/api/workspaces/${id}/files/content`, { path: 'a.txt', content: 'x' });
      links[id] = (await person.client.post('/api/share', { workspace_id: id, path: 'a.txt' })).body;
    }
    const exposed = (person: Person, query = '') =>
      person.client.get(`/api/share/exposed?organization_id=${organization}${query}`);
    const workspaces = ({ body }: Json) => body.items.map(({ workspace_id }: Json) => workspace_id);
    expect(workspaces(await exposed(owner))).toEqual([open, hidden, restricted]);
    expect(workspaces(await exposed(member))).toEqual([open, hidden]);
    const first = await exposed(owner, '&limit=2');
    expect(workspaces(await exposed(owner, `&cursor=${first.body.next_cursor}`))).toEqual([restricted]);
    expect((await exposed(ada)).status).toBe(404);
    const [, theirs] = (await exposed(owner)).body.items;
    expect(theirs).toMatchObject({ kind: 'share', name: 'a.txt', protection: 'link', url: null });
    expect((await owner.client.get(`/api/share/${links[hidden].id}`)).status).toBe(404);
    expect((await owner.client.delete(theirs.revoke_path)).status).toBe(200);
    expect((await visit(new URL(links[hidden].url).pathname)).status).toBe(404);
  });
});

describe('a file invitation', () => {
  const invite = async (person: Person, fields: Json = {}): Promise<Json> => {
    const { status, body } = await ada.client.post('/api/file-invitations', {
      workspace_id: workspace,
      path: 'site',
      email: person.email,
      ...fields,
    });
    if (status !== 200) throw new Error(JSON.stringify(body));
    return body;
  };
  const accept = (person: Person, { token }: Json) =>
    person.client.post(`/api/file-invitations/${token}/accept`);

  it('gives the invited one path, and no more', async () => {
    const guest = await service.person('Gil');
    const sent = await invite(guest);
    expect(sent).toMatchObject({ status: 'pending', role: 'viewer', mailed: false, invited_by_name: 'Ada' });
    expect(sent.link).toContain(sent.token);
    const page = await service.stranger.raw('GET', new URL(sent.link).pathname);
    const told = await page.text();
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    for (const words of ['Ada shares “site” with you', guest.email]) expect(told).toContain(words);
    const mallory = await service.person('Mallory');
    expect((await accept(mallory, sent)).status).toBe(403);
    expect((await accept(guest, sent)).body).toMatchObject({ id: sent.id, status: 'accepted' });
    expect((await accept(guest, sent)).status).toBe(409);
    const afterwards = await (await service.stranger.raw('GET', new URL(sent.link).pathname)).text();
    expect(afterwards).toContain('Sign in to see it');
    const mine = await guest.client.get('/api/file-invitations?mine=true');
    expect(mine.body.items.map(({ id }: Json) => id)).toEqual([sent.id]);

    const base = `/api/file-invitations/${sent.id}`;
    const { body } = await guest.client.get(`${base}/files`);
    expect(body.items.map((entry: Json) => entry.path)).toContain('code.ts');
    expect(JSON.stringify(body)).not.toContain('.env');
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Json = await guest.client.get(`${base}/files?limit=1${cursor && `&cursor=${cursor}`}`);
      expect(page.body.items).toHaveLength(1);
      seen.push(page.body.items[0].path);
      cursor = page.body.next_cursor;
      // What it says can be read by anybody.
      if (cursor !== null) expect(Buffer.from(cursor, 'base64url').toString()).toBe(`/${seen.at(-1)}`);
    }
    expect(seen).toEqual(body.items.map((entry: Json) => entry.path));
    expect(await (await guest.client.raw('GET', `${base}/content?path=code.ts`)).text()).toContain('const a');
    for (const out of ['../secret.txt', '.env', 'passwd', 'up/secret.txt', '/../secret.txt']) {
      const { status } = await guest.client.get(`${base}/content?path=${encodeURIComponent(out)}`);
      expect([404, 409, 422]).toContain(status);
    }
    expect((await guest.client.raw('PUT', `${base}/content?path=new.txt`, { body: 'x' })).status).toBe(403);
    expect((await guest.client.get(`/api/workspaces/${workspace}`)).status).toBe(404);
    expect((await mallory.client.get(`${base}/files`)).status).toBe(404);
    expect((await ada.client.get(`${base}/files`)).status).toBe(404);

    expect((await ada.client.delete(base)).status).toBe(200);
    expect((await guest.client.get(`${base}/files`)).status).toBe(404);
  });

  it('is a way in for somebody without an account, once, or declined by them', async () => {
    const newcomer = { name: 'Nina', password: 'correct horse' };
    const address = { email: 'nina@example.com' } as Person;
    const sent = await invite(address);
    const register = (fields: Json = newcomer) =>
      service.stranger.post(`/api/file-invitations/${sent.token}/register`, fields);
    expect((await register({ ...newcomer, password: 'short' })).status).toBe(422);
    expect((await register({ ...newcomer, name: ' ' })).status).toBe(422);
    const answers = await Promise.all([register(), register(), register()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    const login = await service.stranger.post('/api/auth/login', {
      ...address,
      ...newcomer,
      name: undefined,
    });
    const client = new Client(service.url, { authorization: `Bearer ${login.body.access_token}` });
    expect((await client.get(`/api/file-invitations/${sent.id}/files`)).status).toBe(200);
    expect((await client.get('/api/organizations')).body.items).toEqual([]);

    const second = await invite(address);
    const path = `/api/file-invitations/${second.token}`;
    expect((await service.stranger.post(`${path}/register`, newcomer)).status).toBe(403);
    expect((await service.stranger.post(`${path}/decline`)).body).toEqual({ declined: true });
    expect((await service.stranger.post(`${path}/decline`)).status).toBe(404);
    expect((await service.stranger.post('/api/file-invitations/nonsense/register', newcomer)).status).toBe(
      404,
    );
    const { body } = await ada.client.get(`/api/file-invitations?workspace_id=${workspace}`);
    expect(body.items.map(({ id }: Json) => id)).not.toContain(second.id);
  });

  it('lets an editor write to one file, until whoever invited may no more', async () => {
    put('draft.txt', 'old');
    const bob = await service.person('Bob');
    const place = { organization: ada.organizationId, role: 'guest', workspace };
    await service.join(bob, { ...place, workspaceRole: 'editor' });
    const guest = await service.person('Gil');
    const { body: sent } = await bob.client.post('/api/file-invitations', {
      workspace_id: workspace,
      path: 'draft.txt',
      email: guest.email.toUpperCase(),
      role: 'editor',
    });
    await accept(guest, sent);
    const base = `/api/file-invitations/${sent.id}`;
    expect((await guest.client.get(`${base}/files`)).body.items).toMatchObject([{ path: '', type: 'file' }]);
    expect((await guest.client.raw('PUT', `${base}/content`, { body: 'new' })).status).toBe(200);
    expect(readFileSync(path.join(folder, 'draft.txt'), 'utf8')).toBe('new');
    expect((await guest.client.raw('PUT', `${base}/content?path=x`, { body: 'x' })).status).toBe(409);
    await service.join(bob, { ...place, workspaceRole: 'viewer' });
    expect((await guest.client.raw('PUT', `${base}/content`, { body: 'late' })).status).toBe(404);
    expect(readFileSync(path.join(folder, 'draft.txt'), 'utf8')).toBe('new');
  });

  it('is accepted by a sign-in, in time, and given up by who accepted it', async () => {
    const guest = await service.person('Gil');
    const sent = await invite(guest);
    const key = await service.key(guest);
    expect((await key.post(`/api/file-invitations/${sent.token}/accept`)).status).toBe(403);
    await service.database.query(
      "update file_invitation set expires_at = now() - interval '1 s' where id = $1",
      [sent.id],
    );
    expect((await accept(guest, sent)).status).toBe(410);
    const again = await invite(guest);
    await accept(guest, again);
    expect((await guest.client.delete(`/api/file-invitations/${again.id}`)).status).toBe(200);
    expect((await guest.client.get('/api/file-invitations?mine=true')).body.items).toEqual([]);
  });
});

// Last, as a second service takes the strategies of sign-in over from the first.
describe('the share host', () => {
  it('takes its name from PUBLIC_URL', async () => {
    const other = await TestService.start({ PUBLIC_URL: 'https://work.example.com' });
    try {
      const owner = await other.person();
      const id = await other.workspace(owner);
      await owner.client.put(`/api/workspaces/${id}/files/content`, { path: 'a.txt', content: 'x' });
      const { body } = await owner.client.post('/api/share', {
        workspace_id: id,
        path: 'a.txt',
        password: 'abcd',
      });
      expect(body.url).toMatch(/^https:\/\/share\.work\.example\.com\/s\//);
      const { hostname, port } = new URL(other.url);
      const cookies = await new Promise<string[]>((resolve, reject) => {
        const headers = { host: 'share.work.example.com', ...form({}).headers };
        const address = `${new URL(body.url).pathname}/unlock`;
        const sent = request({ hostname, port, path: address, method: 'POST', headers }, answer => {
          answer.resume();
          resolve(answer.headers['set-cookie'] ?? []);
        });
        sent.once('error', reject);
        sent.end('password=abcd');
      });
      expect(cookies[0]).toContain('; Secure');
    } finally {
      await other.stop();
    }
  });
});
