import { execFile, execFileSync } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const ROOT = process.cwd();
const SCRIPT = path.join(ROOT, 'scripts/release.mjs');
const run = promisify(execFile);

let folder: string;
const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8' });
const commit = () =>
  git('-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', 'commit', '-qam', 'change');

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'release-'));
  for (const name of ['package.json', 'package-lock.json', 'CHANGELOG.md'])
    await copyFile(path.join(ROOT, name), path.join(folder, name));
  git('init', '-q', '-b', 'main');
  git('add', '.');
  commit();
});
afterEach(() => rm(folder, { recursive: true }));

async function release(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...process.env, RELEASE_ROOT: folder };
  const ran = run(process.execPath, [SCRIPT, ...args], { env });
  return ran.then(
    output => ({ code: 0, ...output }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
}

describe('a release', () => {
  it('shows what it would do, and changes nothing, in a dry run', async () => {
    const before = await readFile(path.join(folder, 'package.json'), 'utf8');
    const { code, stdout } = await release('99.0.0', '--dry-run');
    expect(code).toBe(0);
    expect(stdout).toContain('→ 99.0.0');
    expect(stdout).toMatch(/would: CHANGELOG\.md: \[Unreleased\] → \[99\.0\.0\] - \d{4}-\d\d-\d\d/);
    expect(stdout).toContain('would: git commit and tag v99.0.0');
    expect(stdout).toContain('### Added');
    expect(stdout).toContain('git push origin main v99.0.0');
    expect(await readFile(path.join(folder, 'package.json'), 'utf8')).toBe(before);
    expect(git('status', '--porcelain')).toBe('');
    expect(git('tag')).toBe('');
  });

  it('sets the version, dates the changelog, commits and tags', async () => {
    const file = path.join(folder, 'package.json');
    const content = JSON.parse(await readFile(file, 'utf8'));
    await writeFile(file, JSON.stringify({ ...content, scripts: { generate: 'true' } }));
    commit();
    for (const [name, value] of [
      ['user.name', 'Ada'],
      ['user.email', 'ada@example.com'],
    ] as const)
      git('config', name, value);
    expect(await release('99.0.0')).toMatchObject({ code: 0 });
    expect(git('show', 'v99.0.0:package.json')).toContain('"version": "99.0.0"');
    expect(git('show', 'v99.0.0:package-lock.json')).toContain('"version": "99.0.0"');
    expect(git('show', 'v99.0.0:CHANGELOG.md')).toMatch(/## \[Unreleased\]\n\n## \[99\.0\.0\] - 20/);
    expect(git('log', '-1', '--format=%s')).toBe('chore: release 99.0.0\n');
    expect(git('status', '--porcelain')).toBe('');
  });

  it.each([
    ['no version', [], 'Usage'],
    ['what is no version', ['v1'], 'Usage'],
    ['an older version', ['0.0.1'], '0.0.1 is older than'],
  ])('is refused with %s', async (_, args, message) =>
    expect(await release(...args, '--dry-run')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(message),
    }),
  );

  it('is refused where something is not committed, on another branch, a second time, or with nothing to say', async () => {
    const refusal = async () => (await release('99.0.0', '--dry-run')).stderr;
    await writeFile(
      path.join(folder, 'package.json'),
      await readFile(path.join(folder, 'package.json'), 'utf8').then(text => `${text}\n`),
    );
    expect(await refusal()).toContain('uncommitted changes');
    git('checkout', '-q', '.');
    git('checkout', '-q', '-b', 'work');
    expect(await refusal()).toContain('this is work');
    git('checkout', '-q', 'main');
    git('tag', 'v99.0.0');
    expect(await refusal()).toContain('v99.0.0 is released already');
    git('tag', '-d', 'v99.0.0');
    await writeFile(
      path.join(folder, 'CHANGELOG.md'),
      '# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-01-01\n\nFirst.\n',
    );
    commit();
    expect(await refusal()).toContain('nothing under [Unreleased]');
  });
});
