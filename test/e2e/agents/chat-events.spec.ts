import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Topics } from '../../../src/platform/topics/index.js';
import type { StreamEvent } from '../../harness/client.js';
import { type Explained, explained, watchStatements } from '../../harness/explained.js';
import { type Person, TestService } from '../../harness/service.js';

const RUNS = 1_500;
const EVENTS = 20;
/** Rows that are looked at for a page, at most: runs, and events. */
const MAX_RUNS = 64;
const MAX_ROWS = 500;

let service: TestService;
let ada: Person;

beforeAll(async () => {
  watchStatements();
  service = await TestService.start({ ROLE: 'api' });
  ada = await service.person();
});
afterAll(async () => {
  await service.stop();
  jest.restoreAllMocks();
});

async function newChat(): Promise<string> {
  return (await ada.client.post('/api/agent', {})).body.id;
}

/** Runs that have ended, in chats where `chat` says (SQL over `n`), without the service; each with its last event's number. */
async function generateRuns(count: number, chat: string, lastEvent = '0'): Promise<void> {
  await service.database.query(
    `insert into run (id, chat_id, organization_id, status, state, model, created_by, actor, attempt, step_count, last_event,
       usage, created_at)
     select gen_random_uuid(), ${chat}, $1, 'completed', 'done', 'test/one', $2, '{}', 1, 1, ${lastEvent}, '{}', now()
     from generate_series(1, ${count}) n order by n`,
    [ada.organizationId, ada.id],
  );
}

/**
 * The events of the chat's runs, whose data is SQL over the run `r` and the number `e`. `perRow` is SQL for how many are a row.
 */
async function generateEvents(chat: string, data: string, perRow: string): Promise<void> {
  await service.database.query(
    `with event as (
       select r.id as run_id, e as id, case when e < r.last_event then 'text.delta' else 'run.completed' end as type, ${data} as data,
         ${perRow} as per_row
       from run r, generate_series(1, r.last_event) e where r.chat_id = $1
     )
     insert into run_event (run_id, id, events, created_at)
     select run_id, max(id), jsonb_agg(jsonb_build_object('type', type, 'data', data) order by id), now()
     from event group by run_id, (id - 1) / per_row`,
    [chat],
  );
}

/** Events of the chat from its stream, until there are so many. */
function streamed(chat: string, count: number, after = 0): Promise<StreamEvent[]> {
  let seen = 0;
  const until = () => ++seen === count;
  return ada.client.events(`/api/chats/${chat}/events?after=${after}`, { until });
}

describe.each([
  ['an event', '1'],
  ['several events', '3'],
])('the stream of a chat of many runs whose rows are %s', (_name, perRow) => {
  let chat: string;
  const OF_RUNS = /from run\b|run_event/;

  const expectFew = async (statements: Explained[]) => {
    expect(statements.length).toBeLessThan((RUNS * EVENTS) / MAX_ROWS + 20);
    const [opening, ...pages] = statements;
    // Those of the chat, and again to see which is the first that waits; none of others.
    expect(opening?.rowsOf('run')).toBeLessThanOrEqual(2 * RUNS + 2);
    for (const page of pages) {
      // The run before them, and perhaps one that waits.
      expect(page.rowsOf('run')).toBeLessThanOrEqual(MAX_RUNS + 2);
      expect(page.rowsOf('run_event')).toBeLessThanOrEqual(MAX_ROWS);
    }
  };

  beforeAll(async () => {
    chat = await newChat();
    // Statistics know many small chats, and nothing of the large one.
    await service.database.query(
      `insert into chat (id, title, organization_id, pinned, archived, created_by, created_at, updated_at)
       select md5('chat ' || n)::uuid, 'Other', $1, false, false, $2, now(), now() from generate_series(0, 1999) n
       on conflict do nothing`,
      [ada.organizationId, ada.id],
    );
    await generateRuns(20_000, "md5('chat ' || n % 2000)::uuid");
    await service.database.query('analyze run');
    await generateRuns(RUNS, `'${chat}'`, `${EVENTS}`);
    await generateEvents(chat, `jsonb_build_object('step', 1, 'text', 'word ' || e)`, perRow);
  });

  it('reads each run and each event once, many at a time, where statistics do not know the chat', async () => {
    let events: StreamEvent[] = [];
    await expectFew(
      await explained(OF_RUNS, async () => {
        events = await streamed(chat, RUNS * EVENTS);
      }),
    );
    expect(events).toHaveLength(RUNS * EVENTS);
    expect(events.findIndex(({ id }, n) => id !== n + 1)).toBe(-1);
    expect(new Set(events.map(({ data }) => data.call_id)).size).toBe(RUNS);
  });

  it('and where they do', async () => {
    for (const table of ['run', 'run_event']) await service.database.query(`analyze ${table}`);
    await expectFew(await explained(OF_RUNS, () => streamed(chat, RUNS * EVENTS)));
  });
});

describe('the stream of a chat of runs of all sizes', () => {
  const WAITING = 201;
  let chat: string;
  let whole: { id: number; call_id: string; size: number }[];
  const seen = (events: StreamEvent[]) =>
    events.map(({ id, data }) => ({ id, call_id: data.call_id, size: data.text.length }));

  /** What the rows say, in the order of runs. */
  const stored = () =>
    service.database.query<(typeof whole)[0]>(
      `select row_number() over (order by r.number, e.id)::int as id, r.id as call_id, length(e.data ->> 'text') as size
       from run r join run_event row on row.run_id = r.id
         cross join lateral events_of_row(row.id, row.events) e
       where r.chat_id = $1 and r.merged_into is null order by 1`,
      [chat],
    );

  beforeAll(async () => {
    chat = await newChat();
    // None, one, many more than fit into a page, and few.
    await generateRuns(
      300,
      `'${chat}'`,
      'case n % 50 when 0 then 0 when 1 then 1 when 25 then 700 else n % 7 + 1 end',
    );
    // Large ones: a page ends in the middle of a row, in the middle of a run, and between two.
    await generateEvents(
      chat,
      `jsonb_build_object('text', e || repeat('x', case r.number % 5 when 0 then 30000 when 1 then 2000 else 9 end))`,
      '1 + r.number % case r.number % 5 when 0 then 2 when 1 then 8 else 11 end',
    );
    await service.database.query(
      `with numbered as (
         select id, row_number() over w as n, first_value(id) over w as first from run where chat_id = $1
         window w as (order by number)
       ) update run r set merged_into = first from numbered where numbered.id = r.id and n % 10 = 3`,
      [chat],
    );
    whole = await stored();
  });

  it.each([0, 1, 2, 700, 701, 800, 1400, 2000])(
    'has every event in its place after number %s',
    async after => {
      expect(seen(await streamed(chat, whole.length - after, after))).toEqual(whole.slice(after));
    },
  );

  it('goes no further than the first run that waits, until that has ended', async () => {
    const [waiting] = await service.database.query<{ id: string; before: number }>(
      `with shown as (
         select id, (sum(last_event) over (order by number) - last_event)::int as before, row_number() over (order by number) as n
         from run where chat_id = $1 and merged_into is null
       ), found as (select id, before from shown where n = ${WAITING}
       ), unended as (
         update run_event set events = replace(events::text, 'run.completed', 'text.delta')::jsonb from found where run_id = found.id
       )
       update run set status = 'pending', state = 'waiting' from found where run.id = found.id
       returning run.id, before`,
      [chat],
    );
    if (!waiting) throw new Error('there is no such run');
    const shown = whole.filter(({ id, call_id }) => id <= waiting.before || call_id === waiting.id);
    const last = shown.at(-1)?.id ?? 0;
    expect(seen(await streamed(chat, last))).toEqual(shown);
    const rest = streamed(chat, whole.length - waiting.before + 1, waiting.before);
    await service.database.query(
      `with ended as (
         update run set status = 'completed', state = 'done', last_event = last_event + 1 where id = $1 returning id, last_event
       ) insert into run_event (run_id, id, events, created_at)
       select id, last_event, '[{"type": "run.completed", "data": {"text": "end"}}]', now() from ended`,
      [waiting.id],
    );
    service.app.get(Topics, { strict: false }).publishEverything();
    expect(seen(await rest)).toEqual((await stored()).slice(waiting.before));
  });
});
