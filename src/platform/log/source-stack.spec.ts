import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from '@jest/globals';
import { sourceStack } from './source-stack.js';

/** Its second line comes from the fifth of `src/start.ts`, the rest from a package. */
function bundle(): string {
  const folder = path.join(mkdtempSync(path.join(tmpdir(), 'atelier-')), 'dist', 'bundle');
  mkdirSync(folder, { recursive: true });
  const map = { version: 3, sources: ['../../src/start.ts'], names: [], mappings: ';AAIA;' };
  writeFileSync(path.join(folder, 'main.js.map'), JSON.stringify(map));
  return folder;
}

it('names the source of a place in the bundle, and leaves places in packages and in other files', () => {
  const folder = bundle();
  const root = path.resolve(folder, '../..');
  const stack = [
    'Error: x',
    `    at start (file://${folder}/main.js:2:3)`,
    `    at ${folder}/main.js:2:1`,
    `    at of a package (file://${folder}/main.js:4:3)`,
    `    at without a map (file://${folder}/other.js:2:3)`,
    '    at elsewhere (file:///srv/dist/src/main.js:2:3)',
  ].join('\n');
  expect(sourceStack(stack).replaceAll(root, '/srv')).toBe(
    [
      'Error: x',
      '    at start (/srv/src/start.ts:5:1)',
      '    at /srv/src/start.ts:5:1',
      '    at of a package (file:///srv/dist/bundle/main.js:4:3)',
      '    at without a map (file:///srv/dist/bundle/other.js:2:3)',
      '    at elsewhere (file:///srv/dist/src/main.js:2:3)',
    ].join('\n'),
  );
});
