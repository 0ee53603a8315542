import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import yauzl from 'yauzl';
import yazl from 'yazl';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';
import { Sites } from '../../harness/sites.js';
import { OWN, type Swap, whileSwapping } from '../../harness/swapper.js';
import { multipart, type Seen, Visitor } from '../../harness/visitor.js';

const SECRET = 'SECRET-41c9: of somebody else';
/** A name that is outside alone. */
const OUTSIDE_ONLY = 'theirs-alone.txt';
const NAMES = ['secret.txt', 'README.md', 'deep/secret.txt'];
const ROUNDS = 12;
/** The machine may be busy, and the swapper takes a core for itself. */
const PATIENCE_MS = 600_000;

let service: TestService;
let ada: Person;
let workspace: string;
let visitor: Visitor;
let outside: string;
let untouched: unknown;
let count = 0;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person();
  visitor = new Visitor(service.url);
  outside = path.join(service.dataDir, 'outside');
  for (const name of [...NAMES, OUTSIDE_ONLY]) putAt(path.join(outside, name), SECRET);
  symlinkSync(outside, path.join(service.dataDir, 'outside-link'));
});
afterAll(() => service.stop());
beforeEach(async () => {
  workspace = await service.workspace(ada);
  untouched = allOf(outside);
});
afterEach(() => expect(allOf(outside)).toEqual(untouched));

/** Everything there is to know of a tree, but for when it was last looked at. */
function allOf(folder: string): unknown[] {
  return ['', ...readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()].map(name => {
    const at = path.join(folder, name);
    const { mode, uid, gid, mtimeMs, ctimeMs, nlink, ino } = lstatSync(at);
    return [
      name,
      mode,
      uid,
      gid,
      mtimeMs,
      ctimeMs,
      nlink,
      ino,
      lstatSync(at).isFile() && readFileSync(at, 'utf8'),
    ];
  });
}
function putAt(file: string, content: string | Buffer): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
}
const onDisk = (name: string, of = workspace) => path.join(service.dataDir, 'workspaces', of, name);
const put = (name: string, content: string | Buffer = OWN) => putAt(onDisk(name), content);
const aFolder = (name: string) => {
  for (const each of NAMES) put(`${name}/${each}`);
};
const fileSwap = (at: string): Swap => ({
  at: onDisk(at),
  as: 'file',
  outside: path.join(outside, 'secret.txt'),
});
const folderSwap = (at: string): Swap => ({ at: onDisk(at), as: 'folder', outside });
const swapping = (swaps: Swap[], work: () => Promise<void>) => {
  const aside = path.join(service.dataDir, `aside-${count++}`);
  mkdirSync(aside);
  return whileSwapping(aside, NAMES, swaps, work);
};
const rounds = async (round: (n: number) => Promise<void>, most = ROUNDS) => {
  for (let n = 0; n < most; n++) await round(n);
};
/** Puts a link in the place of something, for good. */
function replace(name: string, target = outside): void {
  renameSync(onDisk(name), path.join(service.dataDir, `was-${count++}`));
  symlinkSync(target, onDisk(name));
}

async function share(fields: Json): Promise<string> {
  const { status, body } = await ada.client.post('/api/share', { workspace_id: workspace, ...fields });
  expect([status, body.detail]).toEqual([200, undefined]);
  return new URL(body.url).pathname;
}

/** The files of a zip, by name. Fails for one that is cut off. */
async function filesOf(zip: Buffer): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  const archive = await yauzl.fromBufferPromise(zip, { lazyEntries: true });
  for await (const entry of archive.eachEntry())
    if (!entry.fileName.endsWith('/'))
      files[entry.fileName] = await textOf(await archive.openReadStreamPromise(entry));
  return files;
}

async function zipOf(contents: Record<string, string>): Promise<Buffer> {
  const zip = new yazl.ZipFile();
  for (const [name, content] of Object.entries(contents)) zip.addBuffer(Buffer.from(content), name);
  zip.end();
  const chunks: Buffer[] = [];
  for await (const chunk of zip.outputStream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** That an answer holds nothing of what is outside, and is one of those there may be. */
function expectClean(
  what: string,
  { status, text }: { status: number; text: string },
  allowed: number[],
): void {
  for (const theirs of [SECRET, OUTSIDE_ONLY, outside]) expect([what, text]).not.toContain(theirs);
  expect(text).not.toContain(SECRET.slice(0, 11));
  if (!allowed.includes(status)) expect([what, status, text]).toEqual([what, allowed, '']);
}

async function expectOwn(what: string, seen: Seen): Promise<void> {
  expectClean(what, seen, [200, 404]);
  if (seen.status !== 200) return;
  if (seen.headers['content-type'] === 'application/zip')
    expect(new Set(Object.values(await filesOf(seen.bytes)))).toEqual(
      new Set(Object.values(await filesOf(seen.bytes)).map(() => OWN)),
    );
  else if (/raw|download/.test(what)) expect([what, seen.text]).toEqual([what, OWN]);
}

describe('a share link, while what it shares is swapped for links to the outside,', () => {
  it(
    'shows a file, saves it and tells of it as it is inside, or not at all',
    async () => {
      put('s/file.txt');
      aFolder('s/dir');
      put('s/README.md');
      const folder = await share({ path: 's', allow: 'download' });
      const alone = await share({ path: 's/file.txt', allow: 'download' });
      const addresses = [
        ...['', '?raw=1', '?download=1'].map(query => alone + query),
        ...['file.txt', 'dir/secret.txt', 'dir/deep/secret.txt'].flatMap(name =>
          ['', '?raw=1', '?download=1'].map(query => `${folder}/path/${name}${query}`),
        ),
        folder,
        `${folder}/path/dir`,
        `${folder}/path/dir/deep`,
        `${folder}/path/dir/${OUTSIDE_ONLY}`,
      ];
      await swapping([fileSwap('s/file.txt'), folderSwap('s/dir'), fileSwap('s/README.md')], () =>
        rounds(async () => {
          await Promise.all(addresses.map(async at => expectOwn(at, await visitor.visit(at))));
          const head = await visitor.visit(`${alone}?raw=1`, { method: 'HEAD' });
          expect([200, 404]).toContain(head.status);
          if (head.status === 200) expect(head.headers['content-length']).toBe(String(OWN.length));
          const part = await visitor.visit(`${alone}?raw=1`, { headers: { range: 'bytes=1-' } });
          expectClean('a part', part, [206, 404]);
          if (part.status === 206) expect(part.text).toBe(OWN.slice(1));
        }),
      );
      expect((await visitor.visit(`${alone}?raw=1`)).text).toBe(OWN);
      replace('s/file.txt', path.join(outside, 'secret.txt'));
      replace('s/dir');
      for (const at of addresses.filter(each => each !== folder)) {
        const seen = await visitor.visit(at);
        expect([at, seen.status]).toEqual([at, 404]);
        expectClean(at, seen, [404]);
      }
    },
    PATIENCE_MS,
  );

  it(
    'sends zips that are whole and hold what is inside alone',
    async () => {
      aFolder('s/dir');
      put('s/file.txt');
      put('s/large.bin', Buffer.alloc(400_000, OWN));
      const at = await share({ path: 's', allow: 'download' });
      const below = await share({ path: 's/dir', allow: 'download' });
      aFolder('s/turn');
      const turning: Swap = { at: onDisk('s/turn'), as: 'kind', outside };
      await swapping([folderSwap('s/dir'), fileSwap('s/file.txt'), turning], () =>
        rounds(async () => {
          const [whole, part] = await Promise.all(
            [at, below].map(each => visitor.visit(`${each}?download=1`)),
          );
          expect(whole?.status).toBe(200);
          const { 'large.bin': large, ...small } = await filesOf(whole?.bytes ?? Buffer.alloc(0));
          expect(large).toHaveLength(400_000);
          for (const [name, content] of Object.entries(small)) expect([name, content]).toEqual([name, OWN]);
          expect([200, 404]).toContain(part?.status);
          if (part?.status === 200) await expectOwn('a zip', part);
        }),
      );
      replace('s/dir');
      const last = await filesOf((await visitor.visit(`${at}?download=1`)).bytes);
      expect(Object.keys(last).sort()).toEqual(
        ['file.txt', 'large.bin', ...NAMES.map(name => `turn/${name}`)].sort(),
      );
      expect((await visitor.visit(`${below}?download=1`)).status).toBe(404);
    },
    PATIENCE_MS,
  );

  it(
    'takes files into the folder or refuses them, over nothing and nowhere else',
    async () => {
      aFolder('clients/inbox');
      const at = await share({ path: 'clients/inbox', allow: 'upload' });
      await swapping([folderSwap('clients/inbox'), fileSwap('clients/inbox/secret.txt')], () =>
        rounds(async n => {
          const sent = await Promise.all(
            [OUTSIDE_ONLY, 'secret.txt', `new-${n}.txt`].map(name =>
              visitor.visit(`${at}/upload`, multipart([[name, 'handed in']])),
            ),
          );
          for (const { status, text } of sent) {
            // 412: a file of that name came with a folder that was made anew.
            expect([200, 404, 412]).toContain(status);
            expect(text).not.toContain('clients');
          }
          expect(readdirSync(outside).sort()).toEqual(['README.md', 'deep', 'secret.txt', OUTSIDE_ONLY]);
        }),
      );
      replace('clients/inbox');
      const refused = await visitor.visit(`${at}/upload`, multipart([['x.txt', 'x']]));
      expect([refused.status, refused.text.includes('clients')]).toEqual([404, false]);
    },
    PATIENCE_MS,
  );

  it(
    'leads those who are invited to it nowhere else either',
    async () => {
      aFolder('s/dir');
      put('s/file.txt');
      const guest = await service.person('Gil');
      const invited = { workspace_id: workspace, path: 's', email: guest.email, role: 'editor' };
      const { body: sent } = await ada.client.post('/api/file-invitations', invited);
      await guest.client.post(`/api/file-invitations/${sent.token}/accept`);
      const base = `/api/file-invitations/${sent.id}`;
      const content = (name: string) => `${base}/content?path=${encodeURIComponent(name)}`;
      const ask = async (method: string, at: string, body?: string) => {
        const answer = await guest.client.raw(method, at, { body });
        return { status: answer.status, text: await answer.text() };
      };
      await swapping([folderSwap('s/dir'), fileSwap('s/file.txt')], () =>
        rounds(async n => {
          for (const name of ['file.txt', 'dir/secret.txt', `dir/${OUTSIDE_ONLY}`]) {
            const read = await ask('GET', content(name));
            expectClean(`reading ${name}`, read, [200, 404, 409]);
            if (read.status === 200) expect(read.text).toBe(OWN);
          }
          expectClean('the list', await ask('GET', `${base}/files?path=dir`), [200, 404, 409]);
          for (const name of ['file.txt', 'dir/secret.txt', `dir/made-${n}.txt`])
            expectClean(`writing ${name}`, await ask('PUT', content(name), OWN), [200, 404, 409]);
        }),
      );
      replace('s/dir');
      const refusal = `"s/dir" is a symbolic link, and links are not followed`;
      for (const method of ['GET', 'PUT'])
        expect(await ask(method, content('dir/secret.txt'), method === 'PUT' ? 'x' : undefined)).toEqual({
          status: 409,
          text: JSON.stringify({ detail: refusal }),
        });
    },
    PATIENCE_MS,
  );
});

describe('a duplicate, while its original is swapped for links to the outside,', () => {
  it(
    'comes to its end with what is inside, and says what it left out',
    async () => {
      put('file.txt');
      for (const name of ['dir', 'turn', 'calm']) aFolder(name);
      for (let n = 0; n < 60; n++) put(`many/${n}.txt`);
      const swaps: Swap[] = [
        fileSwap('file.txt'),
        fileSwap('calm/secret.txt'),
        folderSwap('dir'),
        { at: onDisk('turn'), as: 'kind', outside },
      ];
      const copies: string[] = [];
      await swapping(swaps, async () => {
        for (let n = 0; n < 8; n++) copies.push(await duplicate());
      });
      for (const copy of copies) {
        const all = readdirSync(onDisk('', copy), { recursive: true, encoding: 'utf8' });
        for (const name of all) {
          const stats = lstatSync(onDisk(name, copy));
          expect([name, stats.isFile() || stats.isDirectory()]).toEqual([name, true]);
          if (stats.isFile()) expect([name, readFileSync(onDisk(name, copy), 'utf8')]).toEqual([name, OWN]);
        }
        expect(all.some(name => name.endsWith(OUTSIDE_ONLY))).toBe(false);
        expect(all.filter(name => /^many\/\d+\.txt$/.test(name))).toHaveLength(60);
        expect(all).toContain('calm/README.md');
      }
      replace('dir');
      replace('file.txt', path.join(outside, 'secret.txt'));
      const last = await duplicate(['dir', 'file.txt']);
      expect(readdirSync(onDisk('', last)).sort()).toEqual(['calm', 'many', 'turn']);
    },
    PATIENCE_MS,
  );

  /** The workspace it made. */
  async function duplicate(leftOut: string[] = []): Promise<string> {
    const { body } = await ada.client.post(`/api/workspaces/${workspace}/duplicate`, { name: 'Copy' });
    const events = await ada.client.events(`/api/operations/${body.operation_id}/events`);
    const last = events.at(-1);
    expect([last?.event, last?.data.error]).toEqual(['operation.completed', null]);
    expect(last?.data.skipped).toEqual(expect.arrayContaining(leftOut));
    return last?.data.result.workspace_id;
  }
});

describe('what is written from elsewhere, while its place is swapped for links to the outside,', () => {
  it(
    'comes out of an archive into the folder or not at all',
    async () => {
      aFolder('in/dir');
      const archive = await zipOf({
        'dir/fresh.txt': OWN,
        [`dir/${OUTSIDE_ONLY}`]: OWN,
        'dir/deep/fresh.txt': OWN,
      });
      put('in/a.zip', archive);
      const theirs = path.join(outside, '..', 'theirs.zip');
      writeFileSync(theirs, await zipOf({ 'stolen.txt': SECRET }));
      put('in/swapped.zip', archive);
      const swaps: Swap[] = [
        folderSwap('in/dir'),
        { at: onDisk('in/swapped.zip'), as: 'file', outside: theirs },
      ];
      const extract = (name: string, to: string) =>
        ada.client.post(`/api/workspaces/${workspace}/files/extract`, { path: name, to });
      await swapping(swaps, () =>
        rounds(async n => {
          const into = await extract('in/a.zip', 'in');
          expectClean('into', { status: into.status, text: JSON.stringify(into.body) }, [200, 404, 409, 412]);
          // As a file it is no archive.
          const from = await extract('in/swapped.zip', `out-${n}`);
          expectClean('from', { status: from.status, text: JSON.stringify(from.body) }, [404, 409, 422]);
        }),
      );
      expect(readdirSync(onDisk('')).filter(name => name.startsWith('out-'))).toEqual([]);
      replace('in/dir');
      const refusal = { detail: `"in/dir" is a symbolic link, and links are not followed` };
      expect(await extract('in/a.zip', 'in')).toMatchObject({ status: 409, body: refusal });
    },
    PATIENCE_MS,
  );

  it(
    'comes back from the history into the file or not at all',
    async () => {
      const files = `/api/workspaces/${workspace}/files`;
      for (const name of ['file.txt', 'dir/secret.txt'])
        await ada.client.put(`${files}/content`, { path: name, content: OWN });
      const { body } = await ada.client.get(`${files}/history`);
      const versions: Json[] = body.items;
      expect(versions).toHaveLength(2);
      await swapping([fileSwap('file.txt'), folderSwap('dir')], () =>
        rounds(async () => {
          for (const version of versions) {
            const restored = await ada.client.post(`${files}/restore`, {
              path: version.path,
              version: version.id,
            });
            const text = JSON.stringify(restored.body);
            expectClean('restoring', { status: restored.status, text }, [200, 404, 409]);
            const { status, body: diff } = await ada.client.get(`${files}/history/${version.id}/diff`);
            expectClean('the diff', { status, text: JSON.stringify(diff) }, [200]);
          }
        }, 4),
      );
      const later: Json[] = (await ada.client.get(`${files}/history?limit=200`)).body.items;
      for (const { id } of later.filter(({ kept }) => kept)) {
        const { body: version } = await ada.client.get(`${files}/history/${id}`);
        expect(version.content).toBe(OWN);
      }
      replace('dir');
      const version = versions.find(({ path: at }) => at === 'dir/secret.txt');
      const restore = { path: 'dir/secret.txt', version: version?.id };
      expect(await ada.client.post(`${files}/restore`, restore)).toMatchObject({
        status: 409,
        body: { detail: '"dir" is a symbolic link, and links are not followed' },
      });
    },
    PATIENCE_MS,
  );
});

describe('what is published as a site, while it is swapped for links to the outside,', () => {
  it(
    'is the files of the folder or a version that failed, and each file is whole',
    async () => {
      const sites = await Sites.in(service, ada, workspace);
      const site = await sites.make({ 'index.html': 'one', 'page.html': OWN });
      const { slug } = site;
      aFolder(`${slug}/dir`);
      // Rewritten in place: a file that is all of one letter, and long enough to be read in pieces.
      const letters = ['a', 'b'].map(letter => letter.repeat(3_000_000));
      put(`${slug}/long.txt`, letters[0] ?? '');
      let turn = 0;
      let isOver = false;
      const rewriting = (async () => {
        while (!isOver) {
          await ada.client.put(`/api/workspaces/${workspace}/files/content`, {
            path: `${slug}/long.txt`,
            content: letters[++turn % 2],
          });
        }
      })();
      try {
        await swapping([fileSwap(`${slug}/page.html`), folderSwap(`${slug}/dir`)], () =>
          rounds(async () => {
            const version = await sites.publish(site);
            expectClean('the version', { status: 200, text: JSON.stringify(version) }, [200]);
            expectClean('its log', { status: 200, text: await sites.log(version) }, [200]);
            if (version.state !== 'live') {
              expect([version.state, version.error]).toEqual(['failed', expect.any(String)]);
              return;
            }
            for (const address of ['/page', ...NAMES.map(name => `/dir/${name}`), `/dir/${OUTSIDE_ONLY}`])
              expect([OWN, '404']).toContain(await sites.shown(site, address));
            expect(letters).toContain(await sites.shown(site, '/long.txt'));
          }, 6),
        );
      } finally {
        isOver = true;
        await rewriting;
      }
      replace(`${slug}/dir`);
      const last = await sites.publish(site);
      const findings = expect.arrayContaining([expect.objectContaining({ file: 'dir' })]);
      expect(last).toMatchObject({ state: 'live', findings });
      // A version of before may have had the file.
      expect([OWN, '404']).toContain(await sites.shown(site, '/dir/secret.txt'));
    },
    PATIENCE_MS,
  );
});
