import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type AgentGround, startAgents } from '../../harness/agent.js';
import type { Json } from '../../harness/client.js';

/** What tells a model to do something that only a program can, or names what it does not have. */
const NOT_FOR_MODELS = /\b(GET|POST|PUT|PATCH|DELETE) \/|\/api\/|If-Match|\bheaders?\b|Idempotency/;

let ground: AgentGround;
let workspace_id: string;
let tools: Json[];

beforeAll(async () => {
  ground = await startAgents();
  workspace_id = await ground.service.workspace(ground.ada);
  // For `web_fetch`, which is offered where a host is reached.
  const egress = { mode: 'allow', hosts: ['example.com'] };
  expect((await ground.ada.client.patch(`/api/workspaces/${workspace_id}/egress`, egress)).status).toBe(200);
  const put = (name: string, content: string) => {
    const at = path.join(ground.service.dataDir, 'workspaces', workspace_id, name);
    mkdirSync(path.dirname(at), { recursive: true });
    writeFileSync(at, content);
  };
  put('.agents/poet.md', '---\nname: poet\ndescription: Writes poems.\n---\nWrite poems.\n');
  put(
    '.agents/skills/rhyme/SKILL.md',
    '---\nname: rhyme\ndescription: Finds rhymes.\n---\nLook for rhymes.\n',
  );
  ground.model.reply({ text: 'ok' });
  await ground.agent.run('go', { workspace_id });
  const asked = ground.model.requests.at(-1)?.body as Json;
  tools = asked.tools.map((tool: Json) => tool.function);
});
afterEach(() => ground.model.clear());
afterAll(() => ground.stop());

/** What a model is told of each of these calls. */
async function told(...calls: { name: string; input: unknown }[]): Promise<Json[]> {
  ground.model.reply([{ tools: calls }, { text: 'I see.' }]);
  return (await ground.agent.run('go', { workspace_id })).result.toolOutputs;
}

describe('the tools of an agent', () => {
  it('are all here', () => {
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'bash',
        'web_fetch',
        'read_file',
        'plan',
        'ask',
        'task',
        'skill',
        'actions_run',
      ]),
    );
  });

  it('are described without a word on HTTP', () => {
    expect(tools.filter(tool => NOT_FOR_MODELS.test(JSON.stringify(tool))).map(({ name }) => name)).toEqual(
      [],
    );
  });

  it('name what is required, and their fields, where a field is missing', async () => {
    const taking = tools.filter(({ parameters }) => parameters.required?.length > 0);
    expect(taking.length).toBeGreaterThan(12);
    const outputs = await told(...taking.map(({ name }) => ({ name, input: {} })));
    for (const [at, { name, parameters }] of taking.entries()) {
      const { output, is_error } = outputs[at] as Json;
      expect([name, is_error]).toEqual([name, true]);
      for (const field of parameters.required) expect(output).toContain(`${field} is required`);
      for (const field of Object.keys(parameters.properties)) expect(output).toContain(field);
      expect(output).toContain(`the fields of ${name} are`);
      expect(output).not.toMatch(NOT_FOR_MODELS);
    }
  });

  it('name their fields where there is none of that name', async () => {
    const outputs = await told(...tools.map(({ name }) => ({ name, input: { colour: 'red' } })));
    for (const [at, { name, parameters }] of tools.entries()) {
      const { output, is_error } = outputs[at] as Json;
      expect([name, is_error]).toEqual([name, true]);
      expect(output).toContain('colour is not a field');
      for (const field of Object.keys(parameters.properties)) expect(output).toContain(field);
    }
  });

  it('name the field where a value is of another kind', async () => {
    const wrong = tools.map(({ name, parameters: { properties, required = [] } }) => {
      const fields = required.length > 0 ? required : Object.keys(properties).slice(0, 1);
      return { name, input: Object.fromEntries(fields.map((field: string) => [field, { an: 'object' }])) };
    });
    const outputs = await told(...wrong);
    for (const [at, { name, input }] of wrong.entries()) {
      const { output, is_error } = outputs[at] as Json;
      expect([name, is_error]).toEqual([name, true]);
      expect(Object.keys(input).some(field => output.includes(field))).toBe(true);
      expect(output).not.toMatch(NOT_FOR_MODELS);
    }
  });

  it.each<[string, string, Json, RegExp]>([
    ['an agent', 'task', { agent: 'painter', description: 'Paint', prompt: 'Paint' }, /poet/],
    ['a skill', 'skill', { name: 'draw' }, /rhyme/],
    ['an action', 'actions_describe', { name: 'chat_lst' }, /actions_search|chat_list/],
    ['an action to run', 'actions_run', { name: 'chat_lst', input: {} }, /actions_search|chat_list/],
    ['a command', 'bash_output', { id: 'c9' }, /run_in_background|bash gave/],
    ['a command to end', 'bash_kill', { id: 'c9' }, /run_in_background|bash gave/],
    ['a file', 'read_file', { path: '.agents/poem.md' }, /poet\.md/],
    [
      'a step of a plan',
      'plan',
      { items: [{ title: 'A', status: 'done' }] },
      /pending, in_progress, completed/,
    ],
  ])('say where %s that is not there is to be had', async (_, name, input, where) => {
    const [{ output, is_error } = {}] = await told({ name, input });
    expect([output, is_error]).toEqual([expect.stringMatching(where), true]);
    expect(output).not.toMatch(NOT_FOR_MODELS);
  });

  it('are all named where a model calls another', async () => {
    const [{ output } = {}] = await told({ name: 'open_file', input: {} });
    for (const { name } of tools) expect(output).toContain(name);
  });
});
