import { Glob } from './glob.js';
import { GlobSet } from './glob-set.js';

const PATTERNS = [
  '*.ts',
  '*',
  '?.txt',
  'src/*.ts',
  '/src/*.ts',
  './src/**/*.ts',
  'src/**',
  '**/test/**',
  '**/a/**/b',
  '**',
  '*.{ts,tsx}',
  '{a,b}/{c,d}.md',
  '[id].tsx',
  'src/a.ts',
  '/workspace/src/*',
  '**/*.pdf',
  '*/x',
  '?/x',
  '{a',
];
const PATHS = [
  'a.ts',
  'src/a.ts',
  'src/b/c/a.ts',
  'é.txt',
  'a/test/b/c',
  'a/x/a/y/b',
  'b/c.md',
  '[id].tsx',
  'src',
  'x',
  'in/deep/report.pdf',
  'a/x',
  'ab/x',
  '{a',
  'src/.hidden',
  'test',
  'a/b',
];

describe('GlobSet', () => {
  it('finds what each pattern would match by itself', () => {
    const set = new GlobSet(PATTERNS);
    for (const path of PATHS) {
      const alone = PATTERNS.flatMap((pattern, index) => (new Glob(pattern).matches(path) ? [index] : []));
      expect([path, [...set.matching(path)].sort((a, b) => a - b)]).toEqual([path, alone]);
    }
  });
});
