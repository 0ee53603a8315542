import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { detectProject } from './detect-project.js';
import type { ProjectSettings } from './project.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'detect-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const put = (name: string, content: unknown) =>
  writeFileSync(path.join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
const detect = (settings: ProjectSettings = {}) => detectProject(folder, settings);
const build = { scripts: { build: 'make it' } };

describe('a folder', () => {
  it('without a manifest, or without anything to build, is published as it is', async () => {
    const plain = { preset: 'static', needsBuild: false, output: '', outputs: [''], findings: [] };
    expect(await detect()).toEqual(plain);
    expect(await detect({ output_dir: './public/' })).toMatchObject({ needsBuild: false, output: 'public' });
    put('package.json', { type: 'module' });
    expect(await detect()).toEqual(plain);
    put('package.json', { scripts: { start: 'vite' } });
    const findings = [
      { level: 'warning', file: 'package.json', message: expect.stringContaining('"build"') },
    ];
    expect(await detect()).toEqual({ ...plain, findings });
    put('package.json', build);
    expect(await detect({ preset: 'static' })).toEqual(plain);
  });

  it.each([
    ['astro', 'astro', 'dist'],
    ['gatsby', 'gatsby', 'public'],
    ['@docusaurus/core', 'docusaurus', 'build'],
    ['@11ty/eleventy', 'eleventy', '_site'],
    ['vite', 'vite', 'dist'],
    ['left-pad', 'node', 'dist'],
  ])('with %s has the preset %s', async (dependency, preset, output) => {
    put('package.json', { ...build, devDependencies: { [dependency]: '1' } });
    const install = 'npm install';
    expect(await detect()).toMatchObject({
      preset,
      output,
      needsBuild: true,
      install,
      build: 'npm run build',
    });
  });

  it('has the framework rather than what that stands on', async () => {
    put('package.json', {
      ...build,
      devDependencies: { vite: '1', '@sveltejs/kit': '1', '@sveltejs/adapter-static': '1' },
    });
    expect(await detect()).toMatchObject({ preset: 'sveltekit', output: 'build', spa: undefined });
  });

  it('goes by what a person has set', async () => {
    put('package.json', { ...build, dependencies: { next: '1', vite: '1' } });
    const settings = { preset: 'vite', build_command: ' make ', install_command: 'npm i', output_dir: 'a/b' };
    expect(await detect(settings)).toMatchObject({
      preset: 'vite',
      build: 'make',
      install: 'npm i',
      output: 'a/b',
      outputs: ['a/b'],
      spa: true,
    });
    rmSync(path.join(folder, 'package.json'));
    const made = await detect({ build_command: 'make', output_dir: 'html' });
    expect(made).toMatchObject({ preset: 'node', needsBuild: true, build: 'make', output: 'html' });
    expect(made.install).toBeUndefined();
    await expect(detect({ preset: 'vite' })).rejects.toThrow('no package.json in the folder');
    await expect(detect({ preset: 'vote' })).rejects.toThrow(
      'no preset "vote": take one of static, node, astro',
    );
    await expect(detect({ output_dir: '../elsewhere' })).rejects.toThrow(/^output_dir .*"\.\."/);
  });

  it('that makes a server is refused with what to do', async () => {
    put('package.json', { ...build, dependencies: { next: '16' } });
    await expect(detect()).rejects.toThrow("set output: 'export'");
    put('next.config.ts', "export default {\n  // output: 'export',\n};");
    await expect(detect()).rejects.toThrow("set output: 'export'");
    put('next.config.ts', 'export default { "output": "export" };');
    expect(await detect()).toMatchObject({ preset: 'next', output: 'out' });

    put('package.json', { ...build, devDependencies: { '@sveltejs/kit': '2' } });
    await expect(detect()).rejects.toThrow('install @sveltejs/adapter-static');
    put('package.json', { scripts: { build: 'nuxt build' }, dependencies: { nuxt: '4' } });
    await expect(detect()).rejects.toThrow('add the script "generate"');
    expect(await detect({ output_dir: 'dist' })).toMatchObject({ preset: 'nuxt' });
    put('package.json', {
      scripts: { build: 'nuxt build', generate: 'nuxt generate' },
      dependencies: { nuxt: '4' },
    });
    expect(await detect()).toMatchObject({ build: 'npm run generate', output: '.output/public' });
  });
});

describe('the package manager', () => {
  it.each([
    ['package-lock.json', '{}', {}, 'npm ci', undefined],
    ['pnpm-lock.yaml', "lockfileVersion: '9.0'\n", {}, 'pnpm install --frozen-lockfile', /^10\./],
    ['pnpm-lock.yaml', "lockfileVersion: '6.0'\n", {}, 'pnpm install --frozen-lockfile', /^8\./],
    [
      'pnpm-lock.yaml',
      '',
      { packageManager: 'pnpm@9.1.2+sha512.ab' },
      'pnpm install --frozen-lockfile',
      /^9\.1\.2$/,
    ],
    ['yarn.lock', '# yarn lockfile v1\n', {}, 'yarn install --non-interactive --frozen-lockfile', /^1\./],
    ['yarn.lock', '\n__metadata:\n  version: 8\n', {}, 'yarn install --immutable', /^4\.13\./],
    ['yarn.lock', '__metadata:\n  version: 6\n', {}, 'yarn install --immutable', /^3\./],
    ['yarn.lock', '__metadata:\n  version: 11\n', {}, 'yarn install --immutable', /^4\.18\./],
  ])('is known by %s', async (lock, text, more, install, version) => {
    put('package.json', { ...build, ...more, dependencies: { a: '1' } });
    put(lock, text);
    const project = await detect();
    expect(project).toMatchObject({ install, manager: { lock }, findings: [] });
    if (version) expect(project.manager?.version).toMatch(version);
  });

  it('is the one that is named, where there are several lock files', async () => {
    put('package.json', { ...build, packageManager: 'npm@11.0.0', dependencies: { a: '1' } });
    put('package-lock.json', {});
    put('yarn.lock', '');
    const { install, findings } = await detect();
    expect(install).toBe('npm ci');
    expect(findings.map(({ message }) => message)).toEqual([
      'Only one lock file counts (package-lock.json): remove yarn.lock.',
    ]);
  });

  it('installs nothing where nothing is needed', async () => {
    put('package.json', build);
    expect((await detect()).install).toBeUndefined();
  });
});

describe('a hostile manifest', () => {
  it.each([
    ['[1]', 'must hold an object'],
    ['{"scripts": ', 'package.json is no JSON'],
    ['null', 'must hold an object'],
  ])('%s is refused in a sentence', async (text, sentence) => {
    put('package.json', text);
    await expect(detect()).rejects.toThrow(sentence);
  });

  it('is no link, no folder, and of a sane size', async () => {
    const elsewhere = `${folder}.json`;
    writeFileSync(elsewhere, JSON.stringify(build));
    const manifest = path.join(folder, 'package.json');
    symlinkSync(elsewhere, manifest);
    await expect(detect()).rejects.toThrow('symbolic link');
    rmSync(elsewhere);
    rmSync(manifest);
    put('package.json', '{}');
    truncateSync(manifest, 50 * 1024 * 1024);
    await expect(detect()).rejects.toThrow('52428800 bytes');
  });

  it('with values of other kinds is read as far as it goes', async () => {
    put(
      'package.json',
      '{"scripts": {"build": 1, "__proto__": "x"}, "dependencies": ["vite"], "__proto__": {"a": 1}}',
    );
    expect(await detect()).toMatchObject({ preset: 'static' });
  });
});
