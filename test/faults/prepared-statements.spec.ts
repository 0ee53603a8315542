import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { Database } from '../../src/platform/database/index.js';
import { TestService } from '../harness/service.js';

let service: TestService;

beforeAll(async () => {
  service = await TestService.start({ LOG_LEVEL: 'silent' });
});
afterAll(() => service.stop());

const tables = () => service.app.get(Database).tables();

describe('a statement that is prepared', () => {
  it('gives each execution rows of its own, of all types, and none where there are none', async () => {
    const ask = async (from: number) => {
      const { rows } = await sql<Record<string, unknown>>`
        select n as number, 'text ' || n as text, jsonb_build_object('n', n) as json, null::text as nothing,
          '2026-01-02 03:04:05+00'::timestamptz as time, array[n, n + 1] as list
        from generate_series(${from}::int, 3) n`.execute(tables());
      return rows;
    };
    const first = await ask(2);
    expect(first).toEqual(
      [2, 3].map(n => expect.objectContaining({ number: n, text: `text ${n}`, nothing: null })),
    );
    expect(first[0]).toMatchObject({ json: { n: 2 }, list: [2, 3] });
    for (const from of [2, 2, 2, 2, 2, 2, 2]) expect(await ask(from)).toEqual(first);
    expect(await ask(4)).toEqual([]);
    expect(await ask(3)).toEqual([first[1]]);
    expect(Object.keys((await ask(3))[0] ?? {})).toEqual([
      'number',
      'text',
      'json',
      'nothing',
      'time',
      'list',
    ]);
  });

  it('says how many rows it changed where it gives none', async () => {
    await sql`create table if not exists prepared_probe (n int)`.execute(tables());
    const add = (n: number) =>
      sql`insert into prepared_probe select g from generate_series(1, ${n}::int) g`.execute(tables());
    for (const n of [1, 2, 3]) expect((await add(n)).numAffectedRows).toBe(BigInt(n));
  });

  it('goes on after values that cannot be sent, and after an error of the server', async () => {
    const divide = (by: unknown) =>
      sql<{ result: number }>`select 12 / ${by}::int as result`
        .execute(tables())
        .then(({ rows }) => rows[0]?.result);
    const circular: Record<string, unknown> = {};
    circular.itself = circular;
    expect(await divide(3)).toBe(4);
    await expect(divide(circular)).rejects.toThrow('circular');
    await expect(divide(0)).rejects.toThrow('division by zero');
    expect(await divide(4)).toBe(3);
  });

  it('gives the new columns of a table that was changed, after it failed once', async () => {
    await tables()
      .connection()
      .execute(async one => {
        await sql`create table prepared_shape (n int)`.execute(one);
        await sql`insert into prepared_shape values (1)`.execute(one);
        const read = async () => {
          const { rows } = await sql`select * from prepared_shape where n = ${1}::int`.execute(one);
          return rows;
        };
        for (let times = 0; times < 7; times++) expect(await read()).toEqual([{ n: 1 }]);
        await sql`alter table prepared_shape add column more text default 'new'`.execute(one);
        await expect(read()).rejects.toThrow('cached plan must not change result type');
        expect(await read()).toEqual([{ n: 1, more: 'new' }]);
      });
  });
});
