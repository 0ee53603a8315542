/** What a run may do is asked of the database: nothing that tells of a change reaches the process that carries it. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { FakeReply } from '../fakes/scripted-server.js';
import { AgentClient, type AgentGround, startAgents } from '../harness/agent.js';
import type { Json } from '../harness/client.js';
import type { Person } from '../harness/service.js';
import { Workers } from './workers.js';

const PATIENCE = 300_000;

interface Sender {
  readonly person: Person;
  readonly keyId: string;
  readonly program: AgentClient;
}

/** As another process writes it. */
const CHANGES: Record<string, { text: string; of: (sender: Sender) => string; says: string }> = {
  'a revoked key': {
    text: 'update api_key set revoked_at = now() where id = $1',
    of: ({ keyId }) => keyId,
    says: 'has been revoked',
  },
  'a lower role': {
    text: `update organization_member set role = 'guest' where user_id = $1 and role = 'member'`,
    of: ({ person }) => person.id,
    says: 'has no access to its chat any more',
  },
  'a membership that ended': {
    text: `delete from organization_member where user_id = $1 and role = 'member'`,
    of: ({ person }) => person.id,
    says: 'has no access to its chat any more',
  },
};

const write = (path: string): FakeReply => ({ tool: { name: 'write_file', input: { path, content: 'x' } } });

describe.each(Object.entries(CHANGES))('%s', (_name, { text, of, says }) => {
  let ground: AgentGround;
  let workers: Workers;
  let workspace_id: string;

  beforeAll(async () => {
    ground = await startAgents({ ROLE: 'api', DATABASE_POOL: '4' });
    workers = new Workers(ground);
    workspace_id = await ground.service.workspace(ground.ada, { visibility: 'org' });
    // Nobody is told of anything.
    await ground.service.database.query(
      'create or replace function notify_topic(topic text) returns void language sql as $$ select $$',
    );
  }, PATIENCE);
  afterEach(() => workers.kill(), PATIENCE);
  afterAll(() => ground.stop(), PATIENCE);

  async function sender(): Promise<Sender> {
    const { service, ada } = ground;
    const person = await service.person('Bea');
    await service.join(person, { organization: ada.organizationId, role: 'member' });
    const { body } = await person.client.post('/api/keys', { name: 'program' });
    const program = new AgentClient(service.stranger.with({ 'x-api-key': body.api_key }));
    return { person, keyId: body.id, program };
  }

  const change = async (who: Sender) => {
    await ground.service.database.query(text, [of(who)]);
  };
  /** How a run ends. Nobody tells that it has. */
  async function ended({ call_id }: Json): Promise<Json> {
    for (;;) {
      const { body } = await ground.ada.client.get(`/api/agent/status/${call_id}?wait=1`);
      if (body.status !== 'pending') return body;
    }
  }

  const lost = { status: 'error', error: { type: 'authority_lost', message: expect.stringContaining(says) } };

  it(
    'ends a run before its first attempt',
    async () => {
      const who = await sender();
      const run = await who.program.send('work', { workspace_id });
      await change(who);
      const asked = ground.model.requests.length;
      await workers.start();
      expect(await ended(run)).toMatchObject(lost);
      expect(ground.model.requests).toHaveLength(asked);
    },
    PATIENCE,
  );

  it(
    'ends a run before its next tool call',
    async () => {
      const who = await sender();
      const { promise: after, resolve: open } = Promise.withResolvers<void>();
      const asked = ground.model.requests.length;
      ground.model.reply([write('first.txt'), { ...write('second.txt'), after }, { text: 'Done.' }]);
      await workers.start();
      const run = await who.program.send('work', { workspace_id });
      await ground.model.received(asked + 2);
      await change(who);
      open();
      expect(await ended(run)).toMatchObject(lost);
      const { body } = await ground.ada.client.get(`/api/workspaces/${workspace_id}/files`);
      const names = body.items.map(({ path }: { path: string }) => path);
      expect([names.includes('first.txt'), names.includes('second.txt')]).toEqual([true, false]);
    },
    PATIENCE,
  );
});
