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

  it('sends values of all kinds and sizes', async () => {
    const time = new Date('2026-01-02T03:04:05.678Z');
    const values = {
      long: 'ä€😀'.repeat(200_000),
      bytes: Buffer.from([0, 1, 255]),
      few: new Uint8Array([7, 0]),
      empty: '',
      number: -1.5,
      large: 9_007_199_254_740_993n,
      yes: true,
    };
    for (let times = 0; times < 3; times++) {
      const { rows } = await sql<Record<string, unknown>>`
        select ${values.long}::text as long, ${values.bytes}::bytea as bytes, ${values.few}::bytea as few,
          ${values.empty}::text as empty, ${values.number}::float8 as number, ${values.large}::text as large,
          ${values.yes}::boolean as yes, ${undefined}::text as nothing, ${time}::timestamptz = ${time.toISOString()} as same,
          ${{ a: ['"', null] }}::jsonb as json, ${['a,"b"', null]}::text[] as list`.execute(tables());
      expect(rows).toEqual([
        {
          ...values,
          few: Buffer.from(values.few),
          large: `${values.large}`,
          nothing: null,
          same: true,
          json: { a: ['"', null] },
          list: ['a,"b"', null],
        },
      ]);
    }
  });

  it('gives many rows, as long as they are', async () => {
    const ask = async (rows: number) =>
      (
        await sql<{ n: number; text: string }>`
          select n, repeat('é', n * 7 % 3000) as text from generate_series(1, ${rows}::int) n`.execute(
          tables(),
        )
      ).rows;
    for (const count of [1, 3_000, 3_000]) {
      const rows = await ask(count);
      expect(rows).toHaveLength(count);
      expect(rows.every(({ n, text }, at) => n === at + 1 && text === 'é'.repeat((n * 7) % 3000))).toBe(true);
    }
  });

  it('names columns as it likes', async () => {
    const { rows } = await sql`
      select ${1}::int as "__proto__", 2 as "a b", 3 as "quote""'\`", 4 as twice, null as twice, 5 as "1"`.execute(
      tables(),
    );
    expect(rows.map(row => Object.entries(row as object))).toEqual([
      expect.arrayContaining([
        ['__proto__', 1],
        ['a b', 2],
        ['quote"\'`', 3],
        ['twice', null],
        ['1', 5],
      ]),
    ]);
    expect(Object.getPrototypeOf(rows[0])).toBe(Object.prototype);
  });

  it('fails where a value cannot be read, and leaves the connection as it is', async () => {
    const read = (digits: number) =>
      sql`select ('1' || repeat('0', ${digits}::int))::numeric as n, ${'{'}::text as text`.execute(tables());
    expect((await read(2)).rows).toEqual([{ n: '100', text: '{' }]);
    await expect(sql`select ${'x'}::text::int`.execute(tables())).rejects.toThrow('invalid input syntax');
    expect((await read(3)).rows).toEqual([{ n: '1000', text: '{' }]);
  });

  it('says who asked where it fails', async () => {
    async function whoAsked() {
      await sql`select 1 / ${0}::int`.execute(tables());
    }
    await expect(whoAsked()).rejects.toMatchObject({ stack: expect.stringContaining('whoAsked') });
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
