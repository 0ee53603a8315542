/** What servers print: kept in order, within limits, read and streamed. */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ServerLogs } from '../../../src/hosting/tunnels/logs/server-logs.js';
import { newId } from '../../../src/platform/database/index.js';
import type { Json } from '../../harness/client.js';
import { type Person, TestService } from '../../harness/service.js';

let service: TestService;
let ada: Person;
let workspace: string;
let serial = 0;

beforeAll(async () => {
  service = await TestService.start();
  ada = await service.person('Ada');
  workspace = await service.workspace(ada, { visibility: 'restricted' });
});
afterAll(() => service.stop());

const make = async (): Promise<string> => {
  const input = {
    workspace_id: workspace,
    name: 'Log',
    slug: `log-${++serial}`,
    command: 'true',
    start: false,
  };
  return (await ada.client.post('/api/tunnels', input)).body.id;
};
const writerOf = (id: string) => service.app.get(ServerLogs, { strict: false }).writer(id, newId());
const read = async (id: string, query = ''): Promise<Json> =>
  (await ada.client.get(`/api/tunnels/${id}/logs${query}`)).body;
const textOf = ({ entries }: Json): string => entries.map(({ text }: Json) => text).join('');

describe('the log of a server', () => {
  it('is read from its newest lines, and on from any entry', async () => {
    const id = await make();
    const writer = writerOf(id);
    writer.write('stdout', 'one\ntwo\n');
    writer.write('stderr', 'three\n');
    await writer.end();
    const { entries, next } = await read(id);
    expect(entries).toMatchObject([
      { id: 1, stream: 'stdout', text: 'one\ntwo\n' },
      { id: 2, stream: 'stderr', text: 'three\n' },
    ]);
    expect(textOf(await read(id, '?tail=2'))).toBe('two\nthree\n');
    expect(await read(id, `?after=${next}`)).toEqual({ entries: [], next });
    writer.write('stdout', 'four');
    await writer.end();
    expect(textOf(await read(id, `?after=${next}`))).toBe('four');
  });

  it('is streamed as it comes, and goes on after Last-Event-ID', async () => {
    const id = await make();
    const writer = writerOf(id);
    writer.write('stdout', 'early\nlate\n');
    await writer.end();
    const path = `/api/tunnels/${id}/events`;
    const events = await ada.client.events(`${path}?tail=1`, {
      until: ({ data }) => {
        if (data.text === 'late\n') writer.write('stdout', 'more');
        return data.text === 'more';
      },
    });
    expect(events.map(({ data }) => data.text)).toEqual(['late\n', 'more']);
    const again = await ada.client.events(path, {
      headers: { 'last-event-id': '1' },
      until: ({ data }) => data.text === 'more',
    });
    expect(again.map(({ data }) => data.text)).toEqual(['more']);
    await writer.end();
  });

  it('keeps 256 KiB of a second and says what was left out, in characters of any size', async () => {
    const id = await make();
    const writer = writerOf(id);
    const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now());
    writer.write('stdout', 'ä'.repeat(400 * 1024));
    writer.write('stdout', 'ä'.repeat(400 * 1024));
    clock.mockRestore();
    await writer.end();
    const text = textOf(await read(id, '?after=0'));
    expect(text.match(/ä/g)?.length).toBe(256 * 1024);
    expect(text).toMatch(/… 557056 characters were left out here/);
  });

  it('keeps the newest 4 MiB', async () => {
    const id = await make();
    const writer = writerOf(id);
    const { store } = writer as unknown as { store(pieces: Json[]): Promise<void> };
    for (let at = 0; at < 20; at++)
      await store([{ stream: 'stdout', text: `${at} `.padEnd(256 * 1024, 'x') }]);
    const [row] = await service.database.query<{ bytes: string; rows: string; counted: string }>(
      `select sum(bytes) as bytes, count(*) as rows, (select log_bytes from server where id = $1) as counted
       from server_log where server_id = $1`,
      [id],
    );
    expect(Number(row?.bytes)).toBe(Number(row?.counted));
    expect(Number(row?.bytes)).toBeGreaterThan(3 * 1024 * 1024);
    expect(Number(row?.bytes)).toBeLessThanOrEqual(4.25 * 1024 * 1024);
    expect((await read(id)).next).toBe(20);
  });

  it('keeps its order where two processes print at once', async () => {
    const id = await make();
    const writers = [writerOf(id), writerOf(id), writerOf(id)];
    await Promise.all(
      writers.map(async (writer, which) => {
        for (let at = 0; at < 20; at++) {
          writer.write('stdout', `${which}:${at}\n`);
          await writer.end();
        }
      }),
    );
    const { entries } = await read(id, '?after=0');
    expect(entries.map((entry: Json) => entry.id)).toEqual(Array.from({ length: 60 }, (_, at) => at + 1));
    for (const which of [0, 1, 2])
      expect(
        textOf({ entries })
          .split('\n')
          .filter(line => line.startsWith(`${which}:`)),
      ).toEqual(Array.from({ length: 20 }, (_, at) => `${which}:${at}`));
  });
});
