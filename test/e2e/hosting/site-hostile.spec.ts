import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../harness/client.js';
import { getRaw } from '../../harness/raw-http.js';
import { type Person, TestService } from '../../harness/service.js';
import { Sites } from '../../harness/sites.js';

let service: TestService;
let ada: Person;
let sites: Sites;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person();
  sites = await Sites.in(service, ada);
});
afterAll(() => service.stop());

/** What the host of a site answers; the target goes out letter by letter. */
const answered = async ({ slug }: Json, target: string) => {
  const { status, body } = await getRaw(service.url, target, { host: `${slug}.sites.localhost` });
  return { status, body };
};

const bash = async (command: string): Promise<void> => {
  const { status, body } = await ada.client.post(`/api/workspaces/${sites.workspace}/tools/bash`, {
    input: { command },
  });
  expect([status, body.exit_code ?? 0]).toEqual([200, 0]);
};

const findingsOf = (version: Json): unknown[] =>
  version.findings.map(({ level, file }: Json) => [level, file]);

describe('names of files', () => {
  const NFC = 'caf\u00e9.txt';
  const NFD = 'cafe\u0301.txt';

  it('that differ in Unicode or case, or that no address has, are found out, and the others are served', async () => {
    const site = await sites.make({
      'index.html': 'home',
      [NFC]: 'composed',
      'Read.txt': 'upper',
      'read.txt': 'lower',
      '%2e%2e.txt': 'percent',
      'a%2Fb.txt': 'encoded slash',
      '...txt': 'dots',
    });
    await bash(
      `cd ${site.slug} && printf decomposed > '${NFD}' && printf x > 'back\\slash.txt' && printf x > $'line\\nbreak.txt'`,
    );
    const version = await sites.publish(site);
    expect([version.state, version.error]).toEqual(['live', null]);
    expect(findingsOf(version).sort()).toEqual(
      [
        ['error', NFC],
        ['error', 'back\\slash.txt'],
        ['error', 'line\ufffdbreak.txt'],
        ['warning', '...txt'],
        ['warning', 'read.txt'],
      ].sort(),
    );
    for (const [target, body] of [
      ['/caf%C3%A9.txt', 'composed'],
      ['/cafe%CC%81.txt', 'composed'],
      ['/Read.txt', 'upper'],
      ['/read.txt', 'lower'],
      ['/%72ead.txt', 'lower'],
      ['/%252e%252e.txt', 'percent'],
      ['/a%252Fb.txt', 'encoded slash'],
    ] as const)
      expect([target, await answered(site, target)]).toEqual([target, { status: 200, body }]);
  });
});

describe('addresses', () => {
  it('lead to no file but those of the site, and to nothing of the service', async () => {
    const site = await sites.make({ 'index.html': 'home', 'a/page.html': 'page' });
    await sites.write('beside.txt', 'beside the site');
    expect(await sites.publish(site)).toMatchObject({ state: 'live' });
    for (const [target, status] of [
      ['/../beside.txt', 400],
      ['/%2e%2e/beside.txt', 400],
      ['/a/%2E%2E/%2e%2E/beside.txt', 400],
      ['/a/..%2f..%2fbeside.txt', 404],
      ['/a/..%5c..%5cbeside.txt', 404],
      ['/a\\..\\..\\beside.txt', 404],
      ['/%252e%252e/beside.txt', 404],
      ['/a/page%00.html', 400],
      ['/%00', 400],
      ['/a/page.html%00.txt', 400],
      ['/%c0%ae%c0%ae/beside.txt', 400],
      ['/%', 400],
      ['//a/page', 404],
      ['//localhost/api/health', 404],
      ['/a//page', 404],
      ['/a%2fpage', 404],
      ['/a%5Cpage', 404],
      ['/api/health', 404],
      ['/a/%2e%2e/api/health', 400],
      ['/_atelier/../a/page', 404],
      ['/%5Fatelier/viewer', 404],
      ['/_ATELIER/viewer', 404],
      ['/_atelier%2Fviewer', 404],
    ] as const) {
      const answer = await answered(site, target);
      expect([target, answer.status]).toEqual([target, status]);
      expect(answer.body).not.toMatch(/beside|^page|"status"/);
    }
    expect(await answered(site, '/a/page')).toEqual({ status: 200, body: 'page' });
  });
});

/** A project whose build is this program. */
const project = (program: string): Promise<Json> =>
  sites.make({
    'package.json': JSON.stringify({ scripts: { build: 'node build.cjs' } }),
    'build.cjs': program,
  });

describe('a build', () => {
  it('that leaves links, pipes and other special files publishes none of what they lead to, and it is said', async () => {
    const site = await project(`
      const { mkdirSync, symlinkSync, writeFileSync } = require('node:fs');
      const { execFileSync } = require('node:child_process');
      mkdirSync('dist/deep', { recursive: true });
      writeFileSync('dist/index.html', 'built');
      writeFileSync('outside.txt', 'not in the output');
      symlinkSync('/etc/passwd', 'dist/passwd.txt');
      symlinkSync('../outside.txt', 'dist/outside.txt');
      symlinkSync('/etc', 'dist/etc');
      symlinkSync('..', 'dist/deep/up');
      symlinkSync('index.html', 'dist/alias.html');
      execFileSync('mkfifo', ['dist/pipe']);
      require('node:net').createServer().listen('dist/socket', () => process.exit(0));`);
    const version = await sites.publish(site);
    expect([version.state, version.error, version.files]).toEqual(['live', null, 1]);
    expect(version.findings.map(({ file }: Json) => file).sort()).toEqual(
      ['alias.html', 'deep/up', 'etc', 'outside.txt', 'passwd.txt', 'pipe', 'socket'].map(
        name => `dist/${name}`,
      ),
    );
    expect(await sites.shown(site)).toBe('built');
    for (const target of [
      '/passwd.txt',
      '/outside.txt',
      '/etc/passwd',
      '/deep/up/index.html',
      '/alias',
      '/pipe',
    ])
      expect([target, (await answered(site, target)).status]).toEqual([target, 404]);
  });

  it('whose output is a link, or lies below one, publishes nothing', async () => {
    const site = await project(`
      const { mkdirSync, symlinkSync } = require('node:fs');
      mkdirSync('real/within', { recursive: true });
      symlinkSync('real', 'link');
      symlinkSync('/etc', 'dist');`);
    const first = await sites.publish(site);
    expect([first.state, first.error]).toEqual(['failed', expect.stringContaining('is a symlink')]);
    await ada.client.patch(`/api/sites/${site.id}`, { output_dir: 'link/within' });
    const second = await sites.publish(site);
    expect([second.state, second.error]).toEqual([
      'failed',
      expect.stringMatching(/^The build made no folder "link\/within"/),
    ]);
  });

  it('changes nothing of its output once it is over: what it left running is ended before that is collected', async () => {
    const site = await project(`
      const { existsSync, mkdirSync } = require('node:fs');
      const { spawn } = require('node:child_process');
      mkdirSync('dist');
      spawn(process.execPath, ['swap.cjs'], { detached: true, stdio: 'ignore' }).unref();
      const wait = setInterval(() => { if (existsSync('dist/rounds.txt')) process.exit(0); }, 5);`);
    await sites.write(
      `${site.slug}/swap.cjs`,
      `const { renameSync, symlinkSync, writeFileSync, rmSync } = require('node:fs');
      for (let n = 0; ; n++) {
        writeFileSync('next', 'own'); renameSync('next', 'dist/page.html');
        symlinkSync('/etc/passwd', 'link'); renameSync('link', 'dist/page.html');
        writeFileSync('next', 'x'.repeat(1 + (n % 2) * 100000)); renameSync('next', 'dist/index.html');
        if (n === 20) writeFileSync('dist/rounds.txt', 'many');
      }`,
    );
    for (let n = 0; n < 3; n++) {
      const version = await sites.publish(site);
      expect([version.state, version.error]).toEqual(['live', null]);
      expect(await sites.shown(site)).toMatch(/^x+$/);
      expect(['own', '404']).toContain(await sites.shown(site, '/page'));
    }
  });

  it('that prints a gigabyte ends, with a log of four mebibytes', async () => {
    const site = await project(`
      const { writeSync } = require('node:fs');
      const line = 'x'.repeat(1023) + '\\n';
      const part = line.repeat(1024);
      for (let n = 0; n < 1024; n++) writeSync(1, part);`);
    const version = await sites.publish(site);
    expect([version.state, version.error]).toEqual([
      'failed',
      expect.stringMatching(/^The build was ended\. It printed more than 256 MiB/),
    ]);
    const [kept] = await service.database.query<{ bytes: number }>(
      'select sum(octet_length(text))::int as bytes from site_version_log where version_id = $1',
      [version.id],
    );
    expect(kept?.bytes).toBeLessThan(4.1 * 1024 ** 2);
  });
});
