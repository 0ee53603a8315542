import { describe, expect, it, jest } from '@jest/globals';
import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
  sql,
} from 'kysely';
import { KeptCompiler } from './kept-compiler.js';

type Sql = RawBuilder<unknown>;

function compiling(compiler: PostgresQueryCompiler): Kysely<{ thing: { id: string } }> {
  return new Kysely({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: db => new PostgresIntrospector(db),
      createQueryCompiler: () => compiler,
    },
  });
}

const kept = compiling(new KeptCompiler());
const plain = compiling(new PostgresQueryCompiler());

/** Compiles with both, and says whether the text is one that was made before. */
function compared(statement: Sql): { sql: string; parameters: readonly unknown[] } {
  const { sql: text, parameters } = statement.compile(kept);
  const expected = statement.compile(plain);
  expect({ text, parameters }).toEqual({ text: expected.sql, parameters: expected.parameters });
  return { sql: text, parameters };
}

const one = (value: unknown, also: Sql): Sql => sql`select ${value} from a ${also} where b = ${value}`;

/** A tree of everything that statements are made of, as `random` has it. */
function anything(random: () => number, depth: number): Sql {
  const pick = Math.floor(random() * (depth > 0 ? 14 : 9));
  const inner = () => anything(random, depth - 1);
  switch (pick) {
    case 0:
      return sql`a = ${random()}`;
    case 1:
      return sql`${null}`;
    case 2:
      return sql.ref(['a.b', 'c', 'x.y.z', 'b'][Math.floor(random() * 4)] as string);
    case 3:
      return sql.lit([1, '1', true, 'true', null, "it's", -1][Math.floor(random() * 7)]);
    case 4:
      return sql.id(...['a', 'b', 'c'].slice(Math.floor(random() * 3)));
    case 5:
      return sql.raw(['now()', 'a = 1', ''][Math.floor(random() * 3)] as string);
    case 6:
      return sql.table(['a', 'b.c'][Math.floor(random() * 2)] as string);
    case 7:
      return sql.val([1, 2]);
    case 8:
      return sql``;
    case 9:
      return sql`(${inner()})`;
    case 10:
      return sql`with x as (${inner()}), y as (${inner()}) select ${'text'}, ${inner()}`;
    case 11:
      return sql.join(Array.from({ length: Math.floor(random() * 4) }, inner));
    case 12:
      return sql.join(Array.from({ length: Math.floor(random() * 4) }, inner), sql` or `);
    default:
      return one(random(), inner());
  }
}

/** Numbers from 0 to 1, the same for each seed. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

describe('a statement of templates', () => {
  it('has the text and the values that it would have anyway, the first time and later', () => {
    for (let seed = 1; seed <= 3000; seed++) {
      compared(anything(numbers(seed), 4));
      compared(anything(numbers(seed % 50), 4));
    }
  });

  it('has its own values, where another of the same templates came before', () => {
    expect(compared(one(1, sql`x = ${'a'}`)).parameters).toEqual([1, 'a', 1]);
    expect(compared(one('2', sql`x = ${null}`)).parameters).toEqual(['2', null, '2']);
    expect(compared(one([3], sql.ref('x'))).parameters).toEqual([[3], [3]]);
    expect(compared(one(4, sql.ref('y'))).sql).toContain('"y"');
  });

  it('is compiled the first time alone', () => {
    const made = jest.spyOn(PostgresQueryCompiler.prototype, 'compileQuery');
    const statement = (value: unknown) => sql`update b set c = ${value} where ${sql.ref('d')} = ${value}`;
    for (const value of [1, 'two', null]) statement(value).compile(kept);
    expect(made).toHaveBeenCalledTimes(1);
    made.mockRestore();
  });

  it('is another than one with the same words in other places', () => {
    const texts = [
      compared(sql`a ${sql`b`} c`),
      compared(sql`a ${sql.raw('b')} c`),
      compared(sql`a ${sql.lit('b')} c`),
      compared(sql`a ${sql.ref('b')} c`),
      compared(sql`a ${sql.join([sql`b`])} c`),
      compared(sql`a ${sql.lit(1)} c`),
      compared(sql`a ${sql.lit('1')} c`),
      compared(sql`a ${sql.ref('a.b')} c`),
      compared(sql`a ${sql.id('a.b')} c`),
      compared(sql`a ${sql.table('a.b')} c`),
    ].map(({ sql: text }) => text);
    expect(texts).toEqual([
      ...['a b c', 'a b c', `a 'b' c`, 'a "b" c', 'a b c', 'a 1 c', `a '1' c`],
      ...['a "a"."b" c', 'a "a.b" c', 'a "a"."b" c'],
    ]);
  });

  it('may have a query of the builder in it, or be one', () => {
    const query = (id: string) => plain.selectFrom('thing').select('id').where('id', '=', id);
    for (const id of ['a', 'b'])
      expect(compared(sql`select ${1} where ${id} in (${query(id)})`).parameters).toEqual([1, id, id]);
    const built = kept.selectFrom('thing').selectAll().where('id', '=', 'c').compile();
    expect(built).toMatchObject({ sql: 'select * from "thing" where "id" = $1', parameters: ['c'] });
  });

  it('is compiled each time, once more texts are known than programs have', () => {
    const list = (length: number) => sql`a in (${sql.join(Array.from({ length }, (_, at) => at))})`;
    for (let length = 1; length < 400; length++) compared(list(length));
    expect(compared(list(5)).parameters).toEqual([0, 1, 2, 3, 4]);
    expect(compared(list(399)).parameters).toHaveLength(399);
  });
});
