import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ActionCatalog, subjectsOf } from '../../src/platform/actions/index.js';
import { fieldOfParam } from '../../src/platform/dto/index.js';
import type { Json } from '../harness/client.js';
import {
  addressOf,
  bodySchemaOf,
  closedRoutes,
  type Ids,
  idsFor,
  idsOn,
  makeThings,
  type Route,
  sampleBody,
} from '../harness/routes.js';
import { sampleInput } from '../harness/sample-input.js';
import { type Person, TestService } from '../harness/service.js';

/** Something that takes an id: what stands there, and a request of it with some ids. */
interface Answered {
  status: number;
  headers: Json;
  body: string;
}

/** A caller chooses the id of a new chat, and gets it unless it is taken: that much must be told. */
const CHOSEN_BY_THE_CALLER = [
  'POST /api/agent chat_id',
  'POST /api/agent/message chat_id',
  'agent_send chat_id',
  'chat_create chat_id',
];
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** They differ from one answer to the next, whatever is asked. */
const OF_ITS_OWN = ['date', 'x-request-id', 'action-run-id', 'keep-alive', 'connection'];

let service: TestService;
let victim: Person;
let stranger: Person;
let theirs: Ids;
let own: Ids;

beforeAll(async () => {
  service = await TestService.start();
  victim = await service.person('Victim');
  stranger = await service.person('Stranger');
  const others = [await service.person('Other'), await service.person('Another')] as const;
  theirs = await makeThings(service, victim, others[0]);
  own = await makeThings(service, stranger, others[1]);
});
afterAll(() => service.stop());

/** The parameters in which a route takes ids of things. */
function positionsIn(route: Route): string[] {
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => fieldOfParam(name as string));
  const fields = Object.entries<Json>(bodySchemaOf(route)?.properties ?? {});
  const inBody = fields.filter(([, schema]) => takesIds(schema)).map(([name]) => name);
  const inQuery = (route.operation.parameters ?? [])
    .filter((parameter: Json) => parameter.in === 'query' && takesIds(parameter.schema))
    .map((parameter: Json) => parameter.name);
  return [...inPath, ...inBody, ...inQuery].filter(
    name => !['name', 'tool_name', 'token', 'host', 'number', 'provider'].includes(name),
  );
}

const takesIds = ({ format, items }: Json) => (items ?? { format }).format === 'uuid';

async function ask(route: Route, ids: Ids, position: string): Promise<Answered> {
  const schema = bodySchemaOf(route);
  const properties = schema?.properties ?? {};
  const value = position in properties && properties[position].items ? [ids[position]] : ids[position];
  const extra = position in properties ? { [position]: value } : {};
  const body = schema && JSON.stringify({ ...sampleBody(schema, ids), ...extra });
  const isQuery = (route.operation.parameters ?? []).some(
    (parameter: Json) => parameter.in === 'query' && parameter.name === position,
  );
  const address = addressOf(route, ids);
  const has = address.includes(`${position}=`);
  const query = isQuery && !has ? `${address.includes('?') ? '&' : '?'}${position}=${ids[position]}` : '';
  const response = await stranger.client.raw(route.method, address + query, {
    body,
    headers: body ? { 'content-type': 'application/json' } : {},
  });
  return told(response, [ids[position] as string]);
}

/** What an answer tells, with a word for the id that was asked for. */
async function told(response: Response, asked: string[]): Promise<Answered> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
  if (isStream) await response.body?.cancel();
  const text = isStream ? '' : await response.text();
  const headers = Object.fromEntries(
    [...response.headers].filter(([name]) => !OF_ITS_OWN.includes(name) && !name.startsWith('ratelimit')),
  );
  const body = asked.reduce((all, id) => all.replaceAll(id, 'ID'), text);
  return { status: response.status, headers, body: response.ok ? withoutTexts(body) : body };
}

/** What was made has an id and a secret of its own: of an answer that is no refusal, only its shape is compared. */
function withoutTexts(json: string): string {
  if (!json.startsWith('{')) return json;
  return JSON.stringify(JSON.parse(json, (_, value) => (typeof value === 'string' ? '…' : value)));
}

const cases = closedRoutes.flatMap(route =>
  [...new Set(positionsIn(route))]
    .filter(position => !CHOSEN_BY_THE_CALLER.includes(`${route.name} ${position}`))
    .map(position => ({ route, position, name: `${route.name} ${position}` })),
);

describe.each(cases)('$name', ({ route, position }) => {
  it('answers a stranger alike for what is there and what is not', async () => {
    const id = idsFor(route, theirs)[position] as string;
    expect(id).toMatch(UUID);
    for (const around of [idsFor(route, own), idsFor(route, theirs)]) {
      const foreign = await ask(route, { ...around, [position]: id }, position);
      const unknown = await ask(route, { ...around, [position]: randomUUID() }, position);
      expect(foreign).toEqual(unknown);
    }
  });
});

it('covers the routes', () => {
  expect(cases.length).toBeGreaterThan(110);
});

describe('an action', () => {
  it('answers a stranger alike for what is there and what is not, and writes down no more', async () => {
    const catalog = service.app.get(ActionCatalog, { strict: false });
    const differing: Json[] = [];
    let tried = 0;
    for (const action of catalog.list()) {
      const described = action.describe() as Json;
      for (const [field, schema] of Object.entries<Json>(described.input_schema.properties)) {
        if (!takesIds(schema)) continue;
        const on = Object.fromEntries(subjectsOf(action.declaration));
        for (const around of [own, theirs]) {
          const answers = [];
          for (const id of [idsOn(on, theirs)[field] as string, randomUUID()]) {
            expect([action.name, field, id]).toEqual([action.name, field, expect.stringMatching(UUID)]);
            const sample = sampleInput(described, idsOn(on, around));
            const input = { ...sample, [field]: schema.items ? [id] : id };
            answers.push(await runAction(action.name, input, id));
          }
          tried++;
          if (CHOSEN_BY_THE_CALLER.includes(`${action.name} ${field}`)) continue;
          if (JSON.stringify(answers[0]) !== JSON.stringify(answers[1]))
            differing.push({ action: action.name, field, foreign: answers[0], unknown: answers[1] });
        }
      }
    }
    expect(differing).toEqual([]);
    expect(tried).toBeGreaterThan(150);
  });
});

/** What a call of an action tells, and what is written down of it for who called. */
async function runAction(name: string, input: Json, asked: string): Promise<Json> {
  const response = await stranger.client.raw('POST', `/api/actions/${name}/run`, {
    body: JSON.stringify({ input }),
    headers: { 'content-type': 'application/json' },
  });
  const { run_id = response.headers.get('action-run-id') } = (await response.clone().json()) as Json;
  const answer = await told(response, [asked]);
  const record = await stranger.client.get(`/api/action-runs/${run_id}`);
  expect(record.status).toBe(200);
  // What was given is theirs to know; what the service adds to it is not.
  const { input: _given, started_at, finished_at, duration_ms, ...written } = record.body;
  return { ...answer, written: withoutTexts(JSON.stringify(written)), error: written.error };
}
