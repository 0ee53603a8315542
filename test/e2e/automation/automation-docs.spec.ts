/** docs/automations.md against the service: each of its examples is checked and run. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type AgentGround, startAgents } from '../../harness/agent.js';
import { Automations } from '../../harness/automations.js';
import type { Json } from '../../harness/client.js';

const EXAMPLE = /<!-- example: (\S+)(?: (\{[^\n]*\}))? -->\s+(`{3,4})text\n(.*?\n)\3\n/gs;
const examples = [...readFileSync('docs/automations.md', 'utf8').matchAll(EXAMPLE)].map(
  ([, path = '', given, , content = '']) => ({ path, content, given: given && (JSON.parse(given) as Json) }),
);

let ground: AgentGround;
let own: Automations;

beforeAll(async () => {
  ground = await startAgents({ DEFAULT_MODEL: 'local/fake' });
  own = new Automations(ground.ada.client, await ground.service.workspace(ground.ada));
  await own.write('docs/labels.md', 'bug: it is broken\n');
});
afterAll(() => ground.stop());

it('has ten of them', () => {
  expect(examples).toHaveLength(10);
});

it.each(examples)('$path is valid, and does what it says', async ({ path, content, given }) => {
  await own.write(path, content);
  const { body: checked } = await own.ask('validate', { file_path: path });
  expect([checked.valid, checked.findings]).toEqual([true, []]);
  await own.deploy(path);
  if (checked.automation.work.kind === 'agent') ground.model.reply([{ text: '{"topic": "billing"}' }]);
  const sample = given?.kind ? given : undefined;
  const input = sample ? undefined : (given ?? { workspace_id: own.workspaceId });
  const run = await own.run(path, { sample, input });
  expect([run.status, run.error, run.log]).toEqual(['completed', null, run.log]);
});

it('left what they say', async () => {
  expect(await own.fileText('log/events.ndjson')).toContain('"text":"disk is full"');
  expect(await own.fileText('failed-payments.csv')).toBe('"ch_1",1200\n');
  expect(JSON.parse(await own.fileText('inventory.json'))).toHaveProperty('items.0.path');
  const runs = await own.runs('&status=completed');
  const words = runs.find(({ file_path }) => file_path === 'automations/words.md');
  expect(words?.output).toEqual({ documents: 1, words: 4 });
  const classified = runs.find(({ file_path }) => file_path === 'automations/classify.md');
  expect(classified?.output).toMatchObject({ json: { topic: 'billing' } });
});
