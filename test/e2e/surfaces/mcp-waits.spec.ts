import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connectFirst, connectNext } from '../../harness/mcp-clients.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let person: Person;
let workspace_id: string;

beforeAll(async () => {
  service = await TestService.start({ MCP_WAIT_SECONDS: '1' });
  person = await service.person();
  workspace_id = await service.workspace(person);
});
afterAll(() => service.stop());

it.each([
  ['the first SDK (2025-11-25)', connectFirst],
  ['the second SDK at 2026-07-28', connectNext('2026-07-28')],
])(
  'answers %s, at its own time limit, how a run stands that takes longer than it waits',
  async (_name, connect) => {
    const { headers } = await service.key(person);
    const client = await connect(`${service.url}/mcp`, headers);
    const message = 'run sleep 300';
    const sent = await client.callTool({ name: 'send_message', arguments: { message, workspace_id } });
    const { call_id } = sent.structuredContent;
    for (const [name, input] of [
      ['run_status', { call_id, wait: 60 }],
      ['actions_read', { name: 'run_status_get', input: { call_id, wait: 60 } }],
    ] as const) {
      const { isError = false, structuredContent } = await client.callTool({ name, arguments: input });
      const status = name === 'run_status' ? structuredContent : structuredContent.output;
      expect([isError, status]).toEqual([false, expect.objectContaining({ call_id, status: 'pending' })]);
    }
    const rows = await service.database.query(
      "select input -> 'wait' as wait from action_run where action = 'run_status_get' and input ->> 'call_id' = $1",
      [call_id],
    );
    expect(rows).toEqual([{ wait: 1 }, { wait: 1 }]);
    await person.client.post('/api/agent/stop', { call_id });
    await client.close();
  },
);
