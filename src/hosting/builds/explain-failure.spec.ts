import { expect, it } from '@jest/globals';
import { type Ended, explainFailure } from './explain-failure.js';

const exit = { exit_code: 1, signal: null, ended_by: 'exit', limit: null } as const;
const explain = (ended: Partial<Omit<Ended, 'result'>> & { result?: Partial<Ended['result']> }) =>
  explainFailure({
    what: 'build',
    command: 'npm run build',
    tail: '',
    refused: [],
    advice: 'Ask Ada.',
    limits: { seconds: 900, memoryBytes: 2 ** 31, processes: 512 },
    ...ended,
    result: { ...exit, ...ended.result },
  });

it.each<[Parameters<typeof explain>[0], string]>([
  [
    { result: { ended_by: 'timeout' } },
    'The build took longer than 15 minutes, which is the most here (build_seconds in SITE_BUILD_LIMITS).',
  ],
  [
    {
      what: 'install',
      result: { ended_by: 'timeout' },
      limits: { seconds: 61, memoryBytes: 1, processes: 1 },
    },
    'The installation of the dependencies took longer than 61 seconds, which is the most here (install_seconds in SITE_BUILD_LIMITS).',
  ],
  [
    { result: { ended_by: 'memory', exit_code: 137 } },
    'The build ran out of memory: it may take 2048 MiB (memory in SITE_BUILD_LIMITS).',
  ],
  [
    { result: { ended_by: 'stopped' } },
    'The build was stopped: by a person, or because sandboxes are turned off in the workspace.',
  ],
  [{ result: { exit_code: 127 } }, 'The build failed: "npm run build" names a program that is not there.'],
  [{ result: { signal: 'SIGSEGV', exit_code: 139 } }, 'The build failed with SIGSEGV ("npm run build").'],
  [
    { what: 'install', refused: ['git.example is not listed. Ask Bob.'] },
    'The installation of the dependencies needs the network (exit code 1 of "npm run build"). git.example is not listed. Ask Bob.',
  ],
])('%j is said in a sentence', (ended, sentence) => expect(explain(ended)).toBe(sentence));

it.each([
  ['FATAL ERROR: Reached heap limit - JavaScript heap out of memory', 'Set node_memory to more MiB'],
  ['Error: ENOSPC: no space left on device, write', 'found no space left'],
  [
    'Error: getaddrinfo EAI_AGAIN api.example.com',
    'It asked for api.example.com, which cannot be reached. Ask Ada.',
  ],
  ['fatal: unable to access: Could not resolve host: github.com', 'It asked for github.com'],
])('the log tells: %s', (tail, sentence) => expect(explain({ tail })).toContain(sentence));

it('the last lines of the log follow, and not more', () => {
  const tail = `${Array.from({ length: 40 }, (_, line) => `line ${line}`).join('\n')}\n\n`;
  const [, shown = ''] = explain({ tail }).split('\n\n');
  expect(shown.split('\n')).toEqual(Array.from({ length: 15 }, (_, line) => `line ${line + 25}`));
  expect(explain({ tail: 'x'.repeat(10_000) }).length).toBeLessThan(2100);
});
