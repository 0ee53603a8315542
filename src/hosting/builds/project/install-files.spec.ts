import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { installFiles } from './install-files.js';
import { ManifestReader } from './manifest-reader.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'install-files-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const put = (name: string, content: unknown) => {
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  writeFileSync(path.join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
};
const take = (lock?: string) => installFiles(new ManifestReader(folder), lock);

it('manifests lose what runs, the lock file stays as it is, and nothing else comes along', async () => {
  const kept = {
    name: 'a',
    dependencies: { b: '1' },
    overrides: { c: { '.': '2', d: '~1.2.3' } },
    engines: { node: '>=20' },
  };
  put('package.json', {
    ...kept,
    scripts: { preinstall: 'evil' },
    config: { a: 'b' },
    packageManager: 'npm@11.0.0',
  });
  put('package-lock.json', 'as it is');
  put('yarn.lock', 'another');
  put('src/package.json', { name: 'of no part' });
  put('secret.txt', 'SECRET');
  const { files, folders, registries, registry } = await take('package-lock.json');
  expect([...files.keys()]).toEqual(['package.json', 'package-lock.json']);
  expect([JSON.parse(files.get('package.json') ?? ''), files.get('package-lock.json')]).toEqual([
    kept,
    'as it is',
  ]);
  expect([folders, registries, registry]).toEqual([[''], [], undefined]);
});

it('parts of a project are there with their manifests', async () => {
  put('package.json', { workspaces: ['packages/*'] });
  put('packages/a/package.json', { name: 'a', dependencies: { b: 'file:../b' }, scripts: { build: 'x' } });
  put('packages/b/package.json', { name: 'b' });
  put('packages/b/node_modules/c/package.json', { name: 'c' });
  const { files, folders } = await take();
  expect(folders).toEqual(['', 'packages/a', 'packages/b']);
  expect(files.get('packages/a/package.json')).not.toContain('scripts');
});

it('settings of pnpm and Yarn are taken without programs and tokens, and name their registries', async () => {
  put('package.json', {});
  put('.npmrc', `@a:registry=https://a.example/\n@b:registry=https://$\{HOST}/\n`);
  put(
    'pnpm-workspace.yaml',
    'packages: [./x]\nregistries: { "@c": https://c.example/ }\nconfigDependencies: { evil: 1 }\n',
  );
  put(
    '.yarnrc.yml',
    'yarnPath: evil.cjs\nplugins: [evil]\nnpmRegistryServer: https://d.example/\nnpmScopes: { e: { npmRegistryServer: https://e.example/, npmAuthToken: SECRET } }\n',
  );
  const { files, registries, registry, leftOut } = await take();
  expect(parse(files.get('pnpm-workspace.yaml') ?? '')).toEqual({
    packages: ['./x'],
    registries: { '@c': 'https://c.example/' },
  });
  expect(parse(files.get('.yarnrc.yml') ?? '')).toEqual({
    npmScopes: { e: { npmRegistryServer: 'https://e.example/' } },
  });
  expect(registry).toBe('https://d.example/');
  expect(registries).toEqual([
    'https://a.example/',
    `https://$\{HOST}/`,
    'https://d.example/',
    'https://c.example/',
    'https://e.example/',
  ]);
  expect(leftOut).toEqual(['@b:registry']);
});

it.each([
  [{ dependencies: { a: 'file:../../x' } }, '"../../x", which lies outside'],
  [{ dependencies: { a: '../x' } }, '"../x", which lies outside'],
  [{ dependencies: { a: '~/x' } }, '"~/x", which lies outside'],
  [{ pnpm: { overrides: { a: 'link:/x' } } }, '"/x", which lies outside'],
  [{ dependencies: { a: 'file:./vendor/x.tgz' } }, 'the archive "./vendor/x.tgz"'],
])('%j is refused in a sentence', async (manifest, sentence) => {
  put('package.json', manifest);
  await expect(take()).rejects.toThrow(sentence);
});

it('settings that are no YAML are refused in a sentence', async () => {
  put('package.json', {});
  put('pnpm-workspace.yaml', 'a: [');
  await expect(take()).rejects.toThrow('pnpm-workspace.yaml is no YAML');
  put(
    'pnpm-workspace.yaml',
    `a: &a [x,x]\n${'bcdefghij'
      .split('')
      .map((k, i) => `${k}: &${k} [${`*${'abcdefghi'[i]},`.repeat(20)}]`)
      .join('\n')}\n`,
  );
  await expect(take()).rejects.toThrow('pnpm-workspace.yaml');
});
