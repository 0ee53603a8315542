import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type AgentGround, messagesOf, startAgents } from '../../harness/agent.js';
import { Automations } from '../../harness/automations.js';

const MIB = 1024 * 1024;

let ground: AgentGround;
let own: Automations;

beforeAll(async () => {
  ground = await startAgents({ DEFAULT_MODEL: 'local/fake', WEBHOOK_BYTES: String(25 * MIB) });
  own = new Automations(ground.ada.client, await ground.service.workspace(ground.ada));
});
afterAll(() => ground.stop());

/** Nearly as much as a webhook may bring, which nothing makes smaller. */
const LETTERS = randomBytes(6 * MIB).toString('hex') + randomBytes(6 * MIB).toString('hex');
const BODY = JSON.stringify({ title: 'Großes', letters: LETTERS, last: 'the end' });

async function sent(path: string): Promise<{ run_id: string; delivery_id: string }> {
  const [{ url }] = (await own.deploy(path)).secrets;
  const response = await fetch(ground.service.url + new URL(url).pathname, {
    method: 'POST',
    body: BODY,
    headers: { 'content-type': 'application/json' },
  });
  expect(response.status).toBe(200);
  return (await response.json()) as { run_id: string; delivery_id: string };
}

it('a script has all of a large webhook, and has it again when it is replayed', async () => {
  const code =
    'jq "{title: .body.title, length: (.body.letters | length), last: .body.last}" "$ATELIER_INPUT" > "$ATELIER_OUTPUT"';
  const path = await own.script('large', code, 'on:\n  - webhook: { filter: { body.last: the end } }');
  const { run_id, delivery_id } = await sent(path);
  const output = { title: 'Großes', length: LETTERS.length, last: 'the end' };
  expect(await own.ended({ run_id })).toMatchObject({ status: 'completed', output });
  const { body } = await own.client.get(`/api/automation/deliveries/${delivery_id}`);
  expect(body.payload_bytes).toBeGreaterThan(BODY.length);
  expect(body.payload).toBeUndefined();
  const again = await own.client.post(`/api/automation/deliveries/${delivery_id}/replay`, {});
  expect(await own.ended(again.body)).toMatchObject({ status: 'completed', output, replay_of: run_id });
});

it('an agent is shown its beginning, what its prompt asks for, and any part by read_input', async () => {
  const { model } = ground;
  model.reply([{ tool: { name: 'read_input', input: { offset: LETTERS.length } } }, { text: 'Read.' }]);
  const path = await own.file(
    'read-large',
    'on:\n  - webhook: {}',
    'Title: {{ input.body.title }}\nLast: {{ input.body.last }}\n',
  );
  const { run_id } = await sent(path);
  expect(await own.ended({ run_id })).toMatchObject({ status: 'completed' });
  const asked = messagesOf(model.requests.at(-1) as never)
    .map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content)))
    .join('\n');
  expect(asked).toContain('Title: "Großes"');
  expect(asked).toContain('Last: "the end"');
  expect(asked).toContain('read_input gives the rest');
  expect(asked).toContain('"last":"the end"');
  expect(asked.length).toBeLessThan(200_000);
});
