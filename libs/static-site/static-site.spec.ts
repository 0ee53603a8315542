import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { rm, stat, utimes } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { BlobBatch, BlobCache, BlobTooLarge, StaticSite } from './index.js';
import { ServedSite } from './served.fixture.js';

const NAVIGATION = { 'Sec-Fetch-Mode': 'navigate', Accept: 'text/html' };
let served: ServedSite;
beforeEach(async () => {
  served = await new ServedSite().start();
});
afterEach(() => served.stop());

describe('an address', () => {
  beforeEach(() =>
    served.publish({
      'index.html': 'home',
      'about.html': 'about',
      'docs/index.html': 'docs',
      'docs/404.html': 'no such doc',
      '404.html': 'nothing',
      'a b+c.txt': 'spaces',
      'über.txt': 'umlaut',
      '.well-known/x': 'known',
      '.env': 'secret',
      '_atelier/x': 'ours',
    }),
  );

  it.each([
    ['/', 'home'],
    ['/index.html', 'home'],
    ['/?a=b', 'home'],
    ['/about', 'about'],
    ['/about.html', 'about'],
    ['/docs/', 'docs'],
    ['/a%20b+c.txt', 'spaces'],
    ['/%61bout', 'about'],
    ['/%C3%BCber.txt', 'umlaut'],
    ['/u%CC%88ber.txt', 'umlaut'],
    ['/.well-known/x', 'known'],
  ])('%s is a file', async (target, body) => {
    expect(await served.get(target)).toMatchObject({ status: 200, body });
  });

  it.each([
    ['/docs', '/docs/'],
    ['/docs?a=b', '/docs/?a=b'],
    ['/about/', '/about'],
  ])('%s leads to %s', async (target, location) => {
    expect(await served.get(target)).toMatchObject({ status: 301, headers: { location } });
  });

  it.each([
    ['/../etc/passwd', 400],
    ['/%2e%2e/etc/passwd', 400],
    ['/docs/%2E%2e/about', 400],
    ['/./about', 400],
    ['/about%00.html', 400],
    ['/%', 400],
    ['/%ff', 400],
    ['/%c0%ae%c0%ae/x', 400],
    ['/%252e%252e/etc/passwd', 404],
    ['/docs%2Findex.html', 404],
    ['/docs%5Cindex.html', 404],
    ['//evil.example/', 404],
    ['//', 404],
    ['///docs//', 404],
    ['/.env', 404],
    ['/_atelier/x', 404],
    [`/${'a'.repeat(9000)}`, 414],
  ])('%s is nothing: %d', async (target, status) => {
    const answer = await served.get(target);
    expect(answer.status).toBe(status);
    expect(answer.headers.location).toBeUndefined();
  });

  it('of nothing has the nearest page for that, which nobody keeps', async () => {
    const { headers, ...answer } = await served.get('/docs/deep/er/x');
    expect(answer).toEqual({ status: 404, body: 'no such doc' });
    expect(headers['cache-control']).toBe('no-store');
    expect(await served.get('/docsx')).toMatchObject({ status: 404, body: 'nothing' });
  });

  it('takes GET and HEAD alone', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS'])
      expect(await served.get('/', {}, method)).toMatchObject({
        status: 405,
        headers: { allow: 'GET, HEAD' },
      });
  });
});

describe('a name', () => {
  it('that differs in Unicode or case alone is found out', async () => {
    const { findings, manifest } = await served.publish({
      'index.html': 'x',
      'U\u0308.txt': 'decomposed',
      '\u00dc.txt': 'composed',
      'Read.me': '1',
      'read.me': '2',
    });
    expect(findings.map(({ level, file }) => [level, file])).toEqual([
      ['warning', 'read.me'],
      ['error', '\u00dc.txt'],
    ]);
    expect(manifest.files).toHaveLength(4);
    expect((await served.get('/%C3%9C.txt')).body).toBe('composed');
  });

  it.each(['a\\b', 'a\nb', 'a\u0000b', `${'long/'.repeat(300)}x`])(
    'that no address can have is left out: %j',
    async name => {
      const { findings, manifest } = await served.publish({ 'index.html': 'x', [name]: 'y' });
      expect(findings).toMatchObject([{ level: 'error' }]);
      expect(manifest.files).toHaveLength(1);
    },
  );

  it('with a hash in it is kept for a year, unless it had other bytes before', async () => {
    const { manifest } = await served.publish({ 'index.html': '', 'app.4f3c2b1a.js': 'one' });
    expect((await served.get('/app.4f3c2b1a.js')).headers['cache-control']).toContain('immutable');
    expect((await served.get('/')).headers['cache-control']).toBe('public, max-age=0, must-revalidate');
    await served.publish({ 'index.html': '', 'app.4f3c2b1a.js': 'two' }, { earlier: [manifest] });
    expect((await served.get('/app.4f3c2b1a.js')).headers['cache-control']).not.toContain('immutable');
  });
});

describe('a single-page application', () => {
  beforeEach(() => served.publish({ 'index.html': 'app', 'app.js': 'script' }));

  it('has its page for navigations, and never for what is missing of it', async () => {
    expect(await served.get('/some/page', NAVIGATION)).toMatchObject({ status: 200, body: 'app' });
    expect(await served.status('/some/page', { 'Sec-Fetch-Mode': 'cors' })).toBe(404);
    expect(await served.status('/gone.js', NAVIGATION)).toBe(404);
    expect((await served.get('/gone.js', NAVIGATION)).headers['cache-control']).toBe('no-store');
  });

  it('finds assets of earlier versions, but no pages', async () => {
    const { manifest } = await served.publish({
      'index.html': 'old',
      'old.js': 'old()',
      'page.html': 'old page',
    });
    const old = new StaticSite(manifest, { version: '3' });
    await served.publish({ 'index.html': 'new' }, { spa: false });
    served.earlier = [old];
    expect(await served.get('/old.js')).toMatchObject({
      status: 200,
      body: 'old()',
      headers: { 'atelier-version': '3' },
    });
    expect(await served.status('/page')).toBe(404);
    expect((await served.get('/')).body).toBe('new');
  });
});

describe('what a client has', () => {
  const text = 'word '.repeat(1000);
  beforeEach(() => served.publish({ 'index.html': 'home', 'text.txt': text }));

  it('is not sent again', async () => {
    const { headers } = await served.get('/text.txt');
    const etag = headers.etag ?? '';
    const again = await served.get('/text.txt', { 'If-None-Match': etag, 'Cache-Control': 'no-cache' });
    expect([again.status, again.body, again.headers.etag]).toEqual([304, '', etag]);
    expect(await served.status('/text.txt', { 'If-None-Match': `"x", W/${etag}` })).toBe(304);
    expect(await served.status('/text.txt', { 'If-None-Match': '"x"' })).toBe(200);
    expect(await served.status('/text.txt', { 'If-Match': '"x"' })).toBe(412);
  });

  it('is gone on with, by one range of the file as it is', async () => {
    const part = await served.get('/text.txt', { Range: 'bytes=5-8', 'Accept-Encoding': 'br' });
    expect(part).toMatchObject({
      status: 206,
      body: 'word',
      headers: { 'content-range': 'bytes 5-8/5000', 'content-length': '4' },
    });
    expect((await served.get('/text.txt', { Range: 'bytes=-5' })).body).toBe('word ');
    expect(await served.get('/text.txt', { Range: 'bytes=9000-' })).toMatchObject({
      status: 416,
      headers: { 'content-range': 'bytes */5000' },
    });
    expect(await served.status('/text.txt', { Range: 'bytes=0-1,3-4' })).toBe(200);
    expect(await served.status('/text.txt', { Range: 'lines=1-2' })).toBe(200);
    const etag = (await served.get('/text.txt')).headers.etag ?? '';
    expect(await served.status('/text.txt', { Range: 'bytes=0-1', 'If-Range': etag })).toBe(206);
    expect(await served.status('/text.txt', { Range: 'bytes=0-1', 'If-Range': '"x"' })).toBe(200);
  });

  it('is asked for without the body', async () => {
    const whole = await served.get('/text.txt');
    const head = await served.get('/text.txt', {}, 'HEAD');
    expect(head.body).toBe('');
    expect({ ...head.headers, date: '' }).toEqual({ ...whole.headers, date: '' });
  });

  it('comes in the encoding that it likes best', async () => {
    const bytes = async (accepted: string) => {
      const { body, headers } = await served.get('/text.txt', { 'Accept-Encoding': accepted });
      return {
        how: headers['content-encoding'],
        vary: headers.vary,
        etag: headers.etag,
        raw: Buffer.from(body, 'latin1'),
      };
    };
    const br = await bytes('gzip, br');
    const gzip = await bytes('gzip, br;q=0');
    const plain = await bytes('identity');
    expect([br.how, gzip.how, plain.how]).toEqual(['br', 'gzip', undefined]);
    expect([br.vary, gzip.vary, plain.vary]).toEqual(Array(3).fill('Accept-Encoding'));
    expect(brotliDecompressSync(br.raw).toString()).toBe(text);
    expect(gunzipSync(gzip.raw).toString()).toBe(text);
    expect(new Set([br.etag, gzip.etag, plain.etag]).size).toBe(3);
  });

  it('is kept by nobody else where not everybody may open the site', async () => {
    await served.publish({
      'index.html': 'home',
      _headers: '/*\n  Cache-Control: public, s-maxage=60, max-age=5',
    });
    expect((await served.get('/')).headers['cache-control']).toBe('public, s-maxage=60, max-age=5');
    served.cacheability = 'private';
    expect((await served.get('/')).headers['cache-control']).toBe('private, max-age=5');
  });
});

describe('rules', () => {
  const withRules = (redirects: string, headers = '') =>
    served.publish({
      'index.html': 'home',
      'page.html': 'page',
      'missing.html': 'missing',
      'style.css': 'css',
      _redirects: redirects,
      _headers: headers,
    });

  it('redirect, rewrite and force', async () => {
    const { findings } = await withRules(
      [
        '# comment',
        '/old /page',
        '/temp /page 302',
        '/blog/:year/:slug /posts/:slug?y=:year',
        '/out/* https://elsewhere.example/:splat 307',
        '/shown /page 200',
        '/page.html /index.html 200!',
        '/style.css /page',
        '/* /missing 404',
      ].join('\n'),
    );
    expect(findings).toEqual([]);
    const to = async (target: string) => {
      const { status, headers, body } = await served.get(target);
      return [status, headers.location ?? body];
    };
    expect(await to('/old')).toEqual([301, '/page']);
    expect(await to('/temp?a=b')).toEqual([302, '/page?a=b']);
    expect(await to('/blog/2026/hello')).toEqual([301, '/posts/hello?y=2026']);
    expect(await to('/out/a/b')).toEqual([307, 'https://elsewhere.example/a/b']);
    expect(await to('/shown')).toEqual([200, 'page']);
    expect(await to('/page.html')).toEqual([200, 'home']);
    expect(await to('/style.css')).toEqual([200, 'css']);
    expect(await to('/whatever')).toEqual([404, 'missing']);
  });

  it('lead nowhere by what visitors write', async () => {
    await withRules('/go/* /:splat 302\n/to/:where /:where');
    for (const target of [
      '/go//evil.example',
      '/go/%2Fevil.example',
      '/go/%5Cevil.example',
      '/to/%2F%2Fevil.example',
    ]) {
      const { headers } = await served.get(target);
      expect([target, headers.location ?? '/']).toEqual([
        target,
        expect.not.stringMatching(/^(\/\/|\/\\|https?:)/),
      ]);
    }
    const { headers } = await served.get('/go/a%0d%0aSet-Cookie:%20x=1');
    expect(headers['set-cookie']).toBeUndefined();
  });

  it('that cannot be are findings with their lines, and the others count', async () => {
    const { findings } = await withRules(
      ['/a /b 999', '/ok /page', 'nowhere', '/x /y Country=de', '/self /self', '/e https://:host/x'].join(
        '\n',
      ),
      [
        '/*',
        '  Set-Cookie: a=1',
        '  X-Good: yes',
        '  Content-Length: 5',
        '  no colon',
        '  X-Accel-Redirect: /x',
      ].join('\n'),
    );
    expect(findings.map(({ file, line }) => `${file}:${line}`).sort()).toEqual([
      '_headers:2',
      '_headers:4',
      '_headers:5',
      '_headers:6',
      '_redirects:1',
      '_redirects:3',
      '_redirects:4',
      '_redirects:5',
      '_redirects:6',
    ]);
    expect(await served.status('/ok')).toBe(301);
    const { headers } = await served.get('/');
    expect([headers['x-good'], headers['set-cookie'], headers['content-length']]).toEqual([
      'yes',
      undefined,
      '4',
    ]);
  });

  it('are no more than there may be', async () => {
    const many = Array.from({ length: 2500 }, (_, n) => `/r${n} /page`).join('\n');
    const patterns = Array.from({ length: 150 }, (_, n) => `/p${n}/* /page`).join('\n');
    const { manifest, findings } = await withRules(`${many}\n${patterns}`);
    expect(manifest.redirects).toHaveLength(2100);
    expect(findings.length).toBeGreaterThan(0);
  });
});

describe('blobs', () => {
  const put = (text: string, maxBytes = 1_000_000) =>
    served.blobs.put([Buffer.from(text)] as never, { maxBytes });
  const names = () =>
    readdirSync(served.blobs.path, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(({ name }) => name);

  it('are one for the same bytes, also of many at once', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => put('same')));
    expect(new Set(all.map(({ hash }) => hash)).size).toBe(1);
    expect(names()).toEqual([all[0]?.hash]);
  });

  it('that are too large, or break off, leave nothing', async () => {
    await expect(put('12345', 4)).rejects.toThrow(BlobTooLarge);
    const broken = (async function* () {
      yield Buffer.alloc(300 * 1024);
      throw new Error('broken');
    })();
    await expect(served.blobs.put(broken, { maxBytes: 1024 * 1024 })).rejects.toThrow('broken');
    expect(readdirSync(path.join(served.blobs.path, 'tmp'))).toEqual([]);
    expect(names()).toEqual([]);
  });

  it('are swept when they are old and nobody needs them', async () => {
    const [kept, old] = [await put('kept'), await put('old')];
    expect(await served.blobs.sweep([kept.hash], 60_000)).toMatchObject({ bytes: 0 });
    expect(await served.blobs.sweep([kept.hash], -1000)).toMatchObject({ bytes: 3 });
    expect(names()).toEqual([kept.hash]);
    expect((await put('old')).hash).toBe(old.hash);
  });

  describe.each(['at once', 'later'])('of a batch that is written %s', when => {
    const batchOf = (flush = async (_folder: string) => {}) =>
      new BlobBatch(served.blobs, {
        atOnce: (now, later) => (when === 'later' ? later() : now()),
        flush,
      });
    const many = Array.from({ length: 40 }, (_, n) => Buffer.from(`file ${n % 30}`));

    it('have their names once all of them are durable', async () => {
      const named: number[] = [];
      const isNamed = (name: string) => /^[0-9a-f]{64}$/.test(name);
      const batch = batchOf(async folder => {
        expect(folder).toBe(served.blobs.path);
        named.push(names().filter(isNamed).length);
      });
      const stored = await Promise.all(many.map(bytes => batch.put(bytes)));
      expect(names().filter(isNamed)).toEqual([]);
      await batch.place();
      expect(named).toEqual([0, 30]);
      expect(names().sort()).toEqual([...new Set(stored.map(({ hash }) => hash))].sort());
      expect(served.blobs.addedBytes).toBe(many.slice(0, 30).reduce((sum, { length }) => sum + length, 0));
      for (const [at, { hash, size }] of stored.entries()) {
        expect(size).toBe(many[at]?.length);
        expect(hash).toBe((await put(String(many[at]))).hash);
      }
    });

    it('are one with those that are there, which count as new', async () => {
      const { hash } = await put('there');
      const place = path.join(served.blobs.path, served.blobs.relative(hash));
      await utimes(place, 1, 1);
      const { ino } = await stat(place);
      const batch = batchOf();
      expect(await batch.put(Buffer.from('there'))).toEqual({ hash, size: 5 });
      await batch.place();
      expect(await stat(place)).toMatchObject({ ino });
      expect((await stat(place)).mtimeMs).toBeGreaterThan(1_000_000);
      expect(names()).toEqual([hash]);
    });

    it('leave nothing where it is given up', async () => {
      const batch = batchOf();
      for (const bytes of many) await batch.put(bytes);
      await batch.discard();
      expect(names()).toEqual([]);
    });

    it('have compressed forms where these are worth it', async () => {
      const batch = batchOf();
      const page = Buffer.from('<p>words</p>'.repeat(100));
      const { hash } = await batch.put(page);
      const forms = await batch.compress(hash, page, 'text/html');
      expect(await batch.compress(hash, page, 'image/png')).toEqual({});
      await batch.place();
      expect(names().sort()).toEqual([hash, `${hash}.br`, `${hash}.gz`]);
      expect(await served.blobs.compress(hash, page.length, 'text/html')).toEqual(forms);
      expect(forms.br).toBeLessThan(page.length / 2);
    });
  });

  it('that are missing are a fault, and never another file', async () => {
    const { manifest } = await served.publish({ 'index.html': 'home' });
    const hash = manifest.files[0]?.hash ?? '';
    await rm(path.join(served.blobs.path, served.blobs.relative(hash)));
    expect(await served.status('/')).toBe(503);
    expect(served.faults).toHaveLength(1);
  });
});

it('memory keeps what is read often, and no more than it may', async () => {
  const cache = new BlobCache({ maxBytes: 300 });
  const bodies = [];
  for (const letter of 'abcd') {
    const stored = await served.blobs.put([Buffer.alloc(100, letter)] as never, { maxBytes: 100 });
    bodies.push({ kind: 'blob', encoding: undefined, start: 0, end: 99, ...stored } as const);
  }
  const [often, ...others] = bodies as [(typeof bodies)[0], ...typeof bodies];
  await cache.load(often, served.blobs);
  for (const body of others) {
    for (let n = 0; n < 100; n++) expect(cache.get(often)?.toString()).toBe('a'.repeat(100));
    await cache.load(body, served.blobs);
    expect(cache.get(body)?.length).toBe(100);
    expect(cache.bytes).toBeLessThanOrEqual(300);
  }
  expect(bodies.map(body => cache.get(body) !== undefined)).toEqual([true, false, true, true]);
});

describe('a large file', () => {
  const SIZE = 8 * 1024 * 1024;
  const descriptors = () => readdirSync('/proc/self/fd').length;
  beforeEach(() => served.publish({ 'index.html': 'x', 'large.bin': Buffer.alloc(SIZE, 'x') }));

  it('comes whole, and by parts', async () => {
    expect((await served.get('/large.bin')).body).toHaveLength(SIZE);
    expect((await served.get('/large.bin', { Range: `bytes=${SIZE - 3}-` })).body).toBe('xxx');
  });

  it('that nobody reads to its end holds no descriptor', async () => {
    await served.get('/large.bin', {}, 'HEAD');
    const before = descriptors();
    for (let n = 0; n < 50; n++) {
      const socket = net.connect(served.port, '127.0.0.1');
      socket.write('GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n');
      await once(socket, 'data');
      socket.destroy();
    }
    for (const end = Date.now() + 100_000; descriptors() > before && Date.now() < end; )
      await new Promise(resolve => setTimeout(resolve, 20));
    expect(descriptors()).toBeLessThanOrEqual(before);
  });

  it('is named to a proxy in front that is to send it', async () => {
    served.options = { accel: '/_blobs/site/' };
    const { headers, body } = await served.get('/large.bin');
    expect(headers['x-accel-redirect']).toMatch(/^\/_blobs\/site\/[0-9a-f]{2}\/[0-9a-f]{64}$/);
    expect(body).toBe('');
  });
});
