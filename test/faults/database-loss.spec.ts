import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FakeOpenAi } from '../fakes/openai-server.js';
import { AgentClient, messagesOf, textOf } from '../harness/agent.js';
import type { Json } from '../harness/client.js';
import { type Person, TestService } from '../harness/service.js';

const PATIENCE = 300_000;

let model: FakeOpenAi;
let service: TestService;
let ada: Person;
let agent: AgentClient;
let workspace_id: string;

beforeAll(async () => {
  model = await FakeOpenAi.start();
  service = await TestService.start({
    OPENAI_COMPATIBLE_BASE_URL: model.url,
    OPENAI_COMPATIBLE_MODELS: 'small',
    LOG_LEVEL: 'silent',
  });
  ada = await service.person();
  agent = new AgentClient(ada.client);
  workspace_id = await service.workspace(ada);
});
afterAll(async () => {
  await service.stop();
  await model.stop();
});

/** Ends every connection to the database but this one, as a restart or a fail-over of the server does. */
const loseConnections = () =>
  service.database.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );
/** How the run stands when it has ended; a request that meets the loss itself is made again, as a client would. */
async function ended({ call_id }: Json): Promise<Json> {
  for (;;) {
    const { status, body } = await ada.client.get(`/api/agent/status/${call_id}?wait=20`);
    if (status < 500 && body.status !== 'pending') return body;
  }
}
const inWorkspace = (file: string) => path.join(service.dataDir, 'workspaces', workspace_id, file);

describe('when the connections to the database are lost', () => {
  it(
    'a run whose model is answering goes on',
    async () => {
      let go = () => {};
      const after = new Promise<void>(resolve => {
        go = resolve;
      });
      model.reply([{ text: 'Done.', after }]).otherwise({ text: 'Done.' });
      const from = model.requests.length;
      const sent = await agent.send('go');
      await model.received(from + 1);
      await loseConnections();
      go();
      expect(await ended(sent)).toMatchObject({ status: 'completed', result: { response: 'Done.' } });
    },
    PATIENCE,
  );

  it(
    'a run whose command is writing goes on, and the model learns what became of the command',
    async () => {
      const command =
        'echo x >> lost.txt; for i in $(seq 200); do echo $i; sleep 0.05; [ -e stop ] && break; done; echo end';
      model.otherwise(request => {
        const last = messagesOf(request).at(-1);
        return last.role === 'tool' ? { text: 'Seen.' } : { tool: { name: 'bash', input: { command } } };
      });
      const sent = await agent.send('go', { workspace_id });
      await agent.until(sent, ({ event }) => event === 'tool.output');
      await loseConnections();
      writeFileSync(inWorkspace('stop'), '');
      const run = await ended(sent);
      expect(run).toMatchObject({ status: 'completed', result: { response: 'Seen.' } });
      expect(readFileSync(inWorkspace('lost.txt'), 'utf8')).toBe('x\n');
      const events = await agent.events(sent);
      expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
      expect(textOf(events)).toBe('Seen.');
    },
    PATIENCE,
  );

  it(
    'again and again, every run still comes to its end',
    async () => {
      model.otherwise({ text: 'A few words that stream. ' });
      for (let loss = 0; loss < 3; loss++) {
        const sent = await Promise.all(Array.from({ length: 20 }, () => agent.send('go')));
        await loseConnections();
        const runs = await Promise.all(sent.map(one => ended(one)));
        expect(runs.map(({ status }) => status)).toEqual(Array(20).fill('completed'));
      }
    },
    PATIENCE,
  );
});
