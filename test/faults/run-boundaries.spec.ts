import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { FakeOpenAi } from '../fakes/openai-server.js';
import type { FakeReply } from '../fakes/scripted-server.js';
import { type AgentClient, type AgentGround, messagesOf, startAgents, textOf } from '../harness/agent.js';
import type { Json } from '../harness/client.js';
import { brokenInvariants } from '../harness/invariants.js';
import type { Person, TestService } from '../harness/service.js';
import { Barrier } from './barrier.js';
import { Workers } from './workers.js';

const PATIENCE = 300_000;
const PLACE = { model: 'local/small' };

let ground: AgentGround;
let model: FakeOpenAi;
let service: TestService;
let ada: Person;
let agent: AgentClient;
let workspace_id: string;
let workers: Workers;

beforeAll(async () => {
  ground = await startAgents({ ROLE: 'api', OPENAI_COMPATIBLE_MODELS: 'small' });
  ({ model, service, ada, agent } = ground);
  workers = new Workers(ground);
  workspace_id = await service.workspace(ada);
  await mkdir(inWorkspace('.agents'), { recursive: true });
  writeFileSync(inWorkspace('.agents/helper.md'), '---\ndescription: Helps\ntools: ["*"]\n---\nHelp.');
}, PATIENCE);
afterEach(async () => {
  await workers.stop();
});
afterAll(() => ground.stop());

const inWorkspace = (file: string) => path.join(service.dataDir, 'workspaces', workspace_id, file);

const task = (prompt: string) => ({ name: 'task', input: { agent: 'helper', prompt } });

describe.each(['never arrived', 'arrived'])(
  'when a worker is killed and what it wrote last has %s',
  outcome => {
    /** Each run begins with its own name, and so does the file in which its command leaves a line. */
    const name = (run: string) => `${run}-${outcome.replace(' ', '-')}`;
    const command = (run: string) => ({
      name: 'bash',
      input: {
        command: `echo begun; until [ -e ${name('go')} ]; do sleep 0.05; done; echo x >> ${name(run)}.txt`,
      },
    });
    const endless = (run: string) => ({
      name: 'bash',
      input: { command: `echo x >> ${name(run)}.txt; echo begun; sleep 300` },
    });
    const linesOf = (run: string) => {
      const file = inWorkspace(`${name(run)}.txt`);
      return existsSync(file) ? readFileSync(file, 'utf8') : '';
    };
    const asked = (run: string) =>
      model.requests.filter(request => messagesOf(request)[1].content === name(run)).length;

    it(
      'runs go on from their last finished step, wherever they were',
      async () => {
        let answer = () => {};
        const after = new Promise<void>(resolve => {
          answer = resolve;
        });
        let isRestarted = false;
        const replies: Record<string, (messages: Json[]) => FakeReply> = {
          'in-answer': () =>
            isRestarted ? { text: 'The whole answer.' } : { text: 'Half an', hangAfter: 1 },
          'before-calls': messages =>
            messages.length > 2 ? { text: 'Done.' } : { tool: command('before-calls'), after },
          'before-end': () => ({ text: 'Done.', after }),
          'in-tool': messages => (messages.length > 2 ? { text: 'Done.' } : { tool: endless('in-tool') }),
          'before-result': messages =>
            messages.length > 2 ? { text: 'Done.' } : { tool: command('before-result') },
          'in-tasks': messages =>
            messages.length > 2
              ? {
                  text: messages
                    .filter(({ role }) => role === 'tool')
                    .map(({ content }) => content)
                    .join('+'),
                }
              : { tools: [task(name('quick')), task(name('slow')), task(name('working'))] },
          quick: () => ({ text: 'Quick.' }),
          slow: () => (isRestarted ? { text: 'Slow.' } : { text: 'Sl', hangAfter: 1 }),
          working: messages => (messages.length > 2 ? { text: 'Worked.' } : { tool: command('working') }),
        };
        model.otherwise(request => {
          const messages = messagesOf(request);
          const run = Object.keys(replies).find(key => name(key) === messages[1].content);
          return run && replies[run] ? replies[run](messages) : { text: 'Done.' };
        });
        const doomed = await workers.start();
        const send = (run: string) => agent.send(name(run), { ...PLACE, workspace_id });
        const names = ['in-answer', 'before-calls', 'before-end', 'in-tool', 'before-result', 'in-tasks'];
        const sent: Record<string, Json> = {};
        for (const run of names) sent[run] = await send(run);
        await agent.until(sent['in-answer'], ({ event }) => event === 'text.delta');
        for (const run of ['in-tool', 'before-result'])
          await agent.until(sent[run], ({ event }) => event === 'tool.output');
        const tasks = await tasksOf(sent['in-tasks']);
        await agent.until(tasks.slow, ({ event }) => event === 'text.delta');
        await agent.until(tasks.working, ({ event }) => event === 'tool.output');
        await agent.until(sent['in-tasks'], ({ event }) => event === 'tool.finished');

        const barrier = await Barrier.raise(service, 'run_step', 'tool_call', 'budget_reservation');
        sent['before-model'] = await send('before-model');
        await barrier.holds(1);
        answer();
        await barrier.holds(3);
        writeFileSync(inWorkspace(name('go')), '');
        // The results of two commands wait to be written down, too.
        await barrier.holds(5);
        isRestarted = true;
        await doomed.kill();
        if (outcome === 'never arrived') await barrier.undo();
        await barrier.lift();
        await workers.start();

        for (const [run, one] of Object.entries(sent)) {
          const ended = await agent.ended(one);
          expect([run, ended.status, ended.stop_reason]).toEqual([run, 'completed', 'end_turn']);
          const events = await agent.events(one);
          expect(textOf(events).endsWith(ended.result.response)).toBe(true);
        }
        expect(textOf(await agent.events(sent['in-answer']))).toBe('The whole answer.');
        expect(linesOf('before-calls').length).toBeLessThanOrEqual(2);
        for (const run of ['in-tool', 'before-result', 'working'])
          expect([run, linesOf(run)]).toEqual([run, 'x\n']);
        // A task that had ended is not done again, and the others went on from where they were.
        expect(asked('quick')).toBe(1);
        expect(asked('slow')).toBe(2);
        expect(asked('working')).toBe(2);
        const { result } = await agent.ended(sent['in-tasks']);
        expect(result.response).toBe('Quick.+Slow.+Worked.');
        expect(await brokenInvariants(service.database)).toEqual({});
      },
      PATIENCE,
    );
  },
);

/** The tasks of a run that has handed three of them over, by the first word of what they were asked. */
async function tasksOf(run: Json): Promise<Record<string, Json>> {
  const started = new Set<string>();
  await agent.until(run, ({ event, data }) => {
    if (event === 'tool.output' && data.task_call_id) started.add(data.task_call_id);
    return started.size === 3;
  });
  const rows = await service.database.query(
    `select r.id as call_id, split_part(m.content -> 0 ->> 'text', '-', 1) as name
     from run r join message m on m.run_id = r.id and m.role = 'user' where r.parent_id = $1`,
    [run.call_id],
  );
  return Object.fromEntries(rows.map(row => [row.name, row]));
}

it(
  'a worker that carries one run at a time still carries the tasks of that run, and theirs',
  async () => {
    model.otherwise(request => {
      const messages = messagesOf(request);
      const said = messages[1].content;
      if (messages.length > 2) return { text: messages.at(-1)?.content };
      if (said === 'lead') return { tools: [task('middle'), task('middle'), task('leaf')] };
      return said === 'middle' ? { tools: [task('leaf'), task('leaf')] } : { text: 'Leaf.' };
    });
    await workers.start({ RUN_CONCURRENCY: '1', RUN_LIMITS: 'tasks_at_once=1' });
    const ended = await agent.run('lead', { ...PLACE, workspace_id });
    expect(ended.result).toMatchObject({ response: 'Leaf.', toolOutputs: [{}, {}, { output: 'Leaf.' }] });
    expect(await brokenInvariants(service.database)).toEqual({});
  },
  PATIENCE,
);
