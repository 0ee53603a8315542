import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Explained, explained, watchStatements } from '../../harness/explained.js';
import { type Person, TestService } from '../../harness/service.js';

const CHATS = 36_000;
const LIST = /from page join chat/;

let service: TestService;
let ada: Person;
let viewer: Person;
let open: string;

beforeAll(async () => {
  watchStatements();
  service = await TestService.start({ ROLE: 'api' });
  ada = await service.person();
  viewer = await service.person('Viewer');
  open = await service.workspace(ada);
  const closed = await service.workspace(ada);
  await service.join(viewer, {
    organization: ada.organizationId,
    role: 'guest',
    workspace: open,
    workspaceRole: 'viewer',
  });
  // Nearly all of them are in a workspace that the viewer does not see, each hundredth is pinned, three have runs.
  await service.database.query(
    `insert into chat (id, title, organization_id, workspace_id, pinned, archived, created_by, created_at, updated_at)
     select gen_random_uuid(), 'Chat ' || n, $1, case when n > 20 then $3::uuid when n > 10 then $2::uuid end, n % 100 = 0,
       n % 2 = 0, $4, date_trunc('milliseconds', now()) - n * interval '1 minute', now()
     from generate_series(1, ${CHATS}) n`,
    [ada.organizationId, open, closed, ada.id],
  );
  await service.database.query(
    `insert into run (id, chat_id, organization_id, status, state, model, created_by, actor, attempt, step_count, last_event,
       usage, created_at)
     select gen_random_uuid(), id, $1, 'completed', 'done', 'test/one', $2, '{}', 1, 1, 0, '{}', now() from chat
     where title in ('Chat 1', 'Chat 2', 'Chat 30')`,
    [ada.organizationId, ada.id],
  );
});
afterAll(async () => {
  await service.stop();
  jest.restoreAllMocks();
});

async function listed(
  { client }: Person,
  query = '',
): Promise<{ titles: string[]; plan: Explained | undefined }> {
  let titles: string[] = [];
  const [plan] = await explained(LIST, async () => {
    const { status, body } = await client.get(`/api/chats?limit=5${query}`);
    expect(status).toBe(200);
    titles = body.items.map(({ title }: { title: string }) => title);
  });
  return { titles, plan };
}

describe.each([['where statistics do not know them'], ['where they do']])(
  'a list among many chats, %s',
  known => {
    beforeAll(async () => {
      if (known === 'where they do') await service.database.query('analyze chat');
    });

    it('reads little more than it shows', async () => {
      const { titles, plan } = await listed(ada);
      expect(titles).toEqual(['Chat 1', 'Chat 2', 'Chat 3', 'Chat 4', 'Chat 5']);
      expect(plan?.rowsOf('chat')).toBeLessThanOrEqual(20);
      expect(plan?.rowsOf('run')).toBeLessThanOrEqual(2);
    });

    it('reads each chat once at most, whatever is asked for, and looks up runs of a page alone', async () => {
      const queries: [Person, string, string[]][] = [
        [ada, '&pinned=true', ['Chat 100', 'Chat 200', 'Chat 300', 'Chat 400', 'Chat 500']],
        [ada, '&q=chat%2035999', ['Chat 35999']],
        [ada, '&q=nothing', []],
        [ada, '&archived=false', ['Chat 1', 'Chat 3', 'Chat 5', 'Chat 7', 'Chat 9']],
        [ada, `&workspace_id=${open}`, ['Chat 11', 'Chat 12', 'Chat 13', 'Chat 14', 'Chat 15']],
        [viewer, '', ['Chat 11', 'Chat 12', 'Chat 13', 'Chat 14', 'Chat 15']],
        [viewer, `&organization_id=${ada.organizationId}&pinned=true`, []],
      ];
      for (const [person, query, expected] of queries) {
        const { titles, plan } = await listed(person, query);
        expect([query, titles]).toEqual([query, expected]);
        expect(plan?.rowsOf('chat')).toBeLessThanOrEqual(CHATS + 10);
        expect(plan?.rowsOf('run')).toBeLessThanOrEqual(6);
      }
    });
  },
);

it('reads on from its cursor without what came before', async () => {
  const first = (await ada.client.get('/api/chats?limit=200')).body;
  const { titles, plan } = await listed(ada, `&cursor=${first.next_cursor}`);
  expect(titles[0]).toBe('Chat 201');
  expect(plan?.rowsOf('chat')).toBeLessThanOrEqual(20);
});
