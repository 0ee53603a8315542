import { appendFile, mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Findings } from '#libs/front-matter/index.js';
import { WorkspaceFs } from '#libs/workspace-fs/index.js';
import type { AgentsFolderContents } from './agent-guide.js';
import { ContentsCache } from './contents-cache.js';

const SKILL = '.agents/skills/sums/SKILL.md';
const HOUR_MS = 3_600_000;

let root: string;
let files: WorkspaceFs;
let cache: ContentsCache;
let contents: AgentsFolderContents;
let reads: number;

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'contents-'));
  files = new WorkspaceFs(root, { maxFileBytes: 1e6 });
  await mkdir(at('.agents/skills/sums'), { recursive: true });
  await writeFile(at('.agents/reviewer.md'), 'Review.');
  await writeFile(at(SKILL), 'Add.');
  await writeFile(at('AGENTS.md'), 'Be brief.');
  cache = new ContentsCache();
  reads = 0;
  contents = {
    instructions: { path: 'AGENTS.md', text: 'Be brief.', bytes: 9, truncated: false },
    agents: [{ path: '.agents/reviewer.md', name: 'reviewer', value: {} as never, findings: [] }],
    skills: [{ path: SKILL, name: 'sums', value: {} as never, findings: [] }],
    findings: [],
  };
  later();
});
afterEach(async () => {
  jest.restoreAllMocks();
  await rm(root, { recursive: true });
});

const at = (name: string) => path.join(root, name);
/** As if the files had been there for an hour. */
function later(): void {
  jest.spyOn(Date, 'now').mockReturnValue(new Date().getTime() + HOUR_MS);
}
const read = () =>
  cache.of('workspace', files, async () => {
    reads++;
    return contents;
  });

it('reads once while nothing changes', async () => {
  expect(await read()).toBe(contents);
  expect(await read()).toBe(contents);
  await writeFile(at('other.txt'), 'not asked about');
  expect(await read()).toBe(contents);
  expect(reads).toBe(1);
});

it.each<[string, () => Promise<void>]>([
  [
    'instructions that change in place, with their time set back',
    async () => {
      await writeFile(at('AGENTS.md'), 'Be terse.');
      await utimes(at('AGENTS.md'), 1, 1);
    },
  ],
  ['instructions that are gone', () => rm(at('AGENTS.md'))],
  ['an agent that changes', () => appendFile(at('.agents/reviewer.md'), ' More.')],
  ['an agent that is new', () => writeFile(at('.agents/writer.md'), 'Write.')],
  ['a skill that changes', () => appendFile(at(SKILL), ' More.')],
  ['a skill that is new', async () => void (await mkdir(at('.agents/skills/more')))],
  ['a skill whose file is gone', () => rm(at(SKILL))],
  ['the folder of agents, where it is new', async () => void (await mkdir(at('.agents/agents')))],
  [
    'a folder in the place of another',
    async () => {
      await mkdir(at('new/skills'), { recursive: true });
      await rename(at('.agents'), at('old'));
      await rename(at('new'), at('.agents'));
    },
  ],
  [
    'a link in the place of the folder',
    async () => {
      await rename(at('.agents'), at('old'));
      await symlink('old', at('.agents'));
    },
  ],
])('reads again: %s', async (_, change) => {
  await read();
  await change();
  await read();
  expect(reads).toBe(2);
});

it('keeps nothing of files that may change within the same tick of their clock', async () => {
  jest.restoreAllMocks();
  await read();
  await read();
  expect(reads).toBe(2);
});

it('keeps nothing that was read while a file changed', async () => {
  const once = () =>
    cache.of('workspace', files, async () => {
      reads++;
      await rm(at('AGENTS.md'), { force: true });
      return contents;
    });
  await once();
  await read();
  expect(reads).toBe(2);
});

it('keeps nothing that could not be read', async () => {
  const findings = new Findings('AGENTS.md');
  findings.warn('It is not read: too many files are open');
  contents = { ...contents, findings: findings.all };
  await read();
  await read();
  expect(reads).toBe(2);
  contents = {
    ...contents,
    findings: [],
    agents: [{ path: '.agents/x.md', name: 'x', value: null, findings: [] }],
  };
  await read();
  await read();
  expect(reads).toBe(4);
});
