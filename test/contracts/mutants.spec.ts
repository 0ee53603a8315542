import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from '@jest/globals';

type Mutant = readonly [file: string, text: string, ...rest: unknown[]];

it('each fault that the bench plants finds its place in the code, once', async () => {
  const list: string = path.resolve('test/bench/mutants/list.mjs');
  const { MUTANTS } = (await import(list)) as { MUTANTS: readonly Mutant[] };
  const misplaced = MUTANTS.filter(([file, text]) => readFileSync(file, 'utf8').split(text).length !== 2);
  expect(misplaced.map(([file, text]) => `${file}: ${text}`)).toEqual([]);
});
