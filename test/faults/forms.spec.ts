import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../harness/client.js';
import { Forms, type SharedForm } from '../harness/forms.js';
import { freePort } from '../harness/free-port.js';
import { TestService } from '../harness/service.js';
import { form, Visitor } from '../harness/visitor.js';
import { Barrier } from './barrier.js';
import { ServiceProcess } from './service-process.js';
import { Standstill } from './standstill.js';
import { Workers } from './workers.js';

const PATIENCE = 400_000;
const MANY = 200;
const ONE = 'title: One\nprotection: none\nfields:\n  - { id: name, label: Name, type: text }\n';
const LIMITS = { RATE_LIMITS_PER_HOUR: 'form_address=0,form=0' };

let service: TestService;
let forms: Forms;
let workers: Workers;

beforeAll(async () => {
  service = await TestService.start({ ROLE: 'api', ...LIMITS });
  forms = await Forms.in(service, await service.person());
  workers = new Workers({ service, environment: LIMITS });
}, PATIENCE);
afterEach(() => workers.kill());
afterAll(() => service.stop());

const fileOf = ({ path }: Json) => path.replace('.form', '.csv');

/** Every response of the form is in its file once, and nothing else is. */
async function expectExactlyOnce(made: SharedForm): Promise<string[]> {
  await forms.written(made);
  const rows = await service.database.query<Json>('select id from form_submission where form_id = $1', [
    made.id,
  ]);
  const [, ...lines] = await forms.csv(fileOf(made));
  expect(lines.map(([id]) => id).sort()).toEqual(rows.map(({ id }) => id).sort());
  return lines.map(([, , name = '']) => name).sort();
}

const names = Array.from({ length: MANY }, (_, n) => `n${String(n).padStart(3, '0')}`);

/** What a worker is about to do in the table when it is killed. */
const STEPS = [
  ['before it puts the file in its place', 'workspace_write'],
  ['when the file is in its place and not in the log', 'workspace_change'],
  ['before it marks them as written', 'form_submission'],
] as const;

describe('200 responses at once', () => {
  it.each(STEPS)(
    'are in their file once where a worker is killed %s',
    async (_step, table) => {
      const made = await forms.make(ONE);
      const tickets = names.map(() => forms.ticket(made));
      // Each is sent twice; by so few at once that each gets a connection to the database in time.
      const sending = [...names, ...names].map(
        (name, n) => () => forms.send(made, { name }, tickets[n % MANY]),
      );
      const statuses = new Set<number>();
      const sender = async () => {
        for (let send = sending.shift(); send; send = sending.shift()) statuses.add((await send()).status);
      };
      await Promise.all(Array.from({ length: 40 }, sender));
      expect(statuses).toEqual(new Set([303]));
      const barrier = await Barrier.raise(service, table);
      const worker = await workers.start();
      await barrier.holds(1);
      await worker.kill();
      await barrier.undo();
      await barrier.lift();
      await workers.start();
      expect(await expectExactlyOnce(made)).toEqual(names);
    },
    PATIENCE,
  );

  it(
    'are in their file once where the process that takes them is killed: those that it confirmed, and no other twice',
    async () => {
      const made = await forms.make(ONE);
      const port = await freePort();
      const api = await ServiceProcess.start(service, { ROLE: 'api', PORT: String(port), ...LIMITS });
      const { visit } = new Visitor(`http://127.0.0.1:${port}`);
      const confirmed: string[] = [];
      // One at least is under way when it is killed, however late this process gets to that.
      const still = await Standstill.begin(service, {
        table: 'form_submission',
        event: 'before insert',
        when: `new.data::text like '%${names.at(-1)}%'`,
      });
      const sending = names.map(async name => {
        const { status } = await visit(made.at, form({ _ticket: forms.ticket(made), name }));
        if (status !== 303) throw new Error(`${name} answered ${status}`);
        confirmed.push(name);
        if (confirmed.length === MANY / 4) await api.kill();
      });
      const ended = await Promise.allSettled(sending);
      await still.undo();
      await still.end();
      expect(ended.some(({ status }) => status === 'rejected')).toBe(true);
      expect(confirmed.length).toBeGreaterThanOrEqual(MANY / 4);
      await workers.start();
      const written = await expectExactlyOnce(made);
      expect(new Set(written).size).toBe(written.length);
      expect(confirmed.filter(name => !written.includes(name))).toEqual([]);
    },
    PATIENCE,
  );
});
