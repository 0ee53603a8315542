import { describe, expect, it } from '@jest/globals';
import { parseJson } from '#libs/exact-json/index.js';
import { fieldsOf, fieldsWith } from './field.js';
import { InvalidInput, parseInput } from './input.js';
import { inputSchemaOf } from './json-schema.js';

const Field = fieldsWith(name => `id of ${name}`);

class Inner {
  @Field.text('A name', { min: 1, example: 'x' }) name: string;
}

class Shape {
  @Field.id('Which') id: string;
  @Field.integer('How many', { min: 1, max: 10, optional: true, example: 1 }) limit?: number;
  @Field.boolean('Whether', { optional: true }) recursive?: boolean;
  @Field.text('Tags', { optional: true, list: true, maxItems: 2, example: ['a'] }) tags?: string[];
  @Field.object('One inside', () => Inner, { optional: true }) inner?: Inner;
  @Field.object('Many inside', () => Inner, { optional: true, list: true }) many?: Inner[];
  @Field.json('Anything', { optional: true }) anything?: unknown;
  @Field.text('May be null', { optional: true, nullable: true, example: 'x' }) note?: string | null;
}

class Required {
  @Field.object('One inside', () => Inner) one: Inner;
  @Field.object('Many inside', () => Inner, { list: true }) many: Inner[];
}

const ID = '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f';
const read = (plain: object) => parseInput(Shape, { id: ID, ...plain }) as Shape;
const nested = (depth: number) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);

describe('untrusted JSON', () => {
  it('becomes an instance of the shape', () => {
    const input = read({ limit: 5, inner: { name: 'x' } });
    expect(input).toBeInstanceOf(Shape);
    expect(input.inner).toBeInstanceOf(Inner);
    expect(input).toEqual({ id: ID, limit: 5, inner: { name: 'x' } });
  });

  it.each([
    [{ id: 'x' }, 'id must be a UUID'],
    [{ limit: 0 }, 'limit must be at least 1'],
    [{ limit: '5' }, 'limit must be a whole number'],
    [{ other: 1 }, 'other is not a field of this request'],
    [{ tags: 'a' }, 'tags must be a list'],
    [{ tags: ['a', 'b', 'c'] }, 'tags must contain no more than 2 elements'],
    [{ inner: { name: '' } }, 'inner.name must have 1 to 10000 characters'],
    [{ inner: { nom: 'x' } }, 'inner.nom is not a field of this request; the fields of inner are name'],
    [{ inner: 'x' }, 'inner must be a JSON object'],
    [{ many: [{ name: 'x' }, { name: 1 }] }, 'many[1].name'],
    [{ id: undefined }, 'id is required'],
    [{ inner: {} }, 'inner.name is required'],
    [{ many: [{}] }, 'many[0].name is required'],
    [{ note: 'a\0b' }, 'note must be well-formed text without NUL characters'],
    [{ note: '\ud800' }, 'note must be well-formed text without NUL characters'],
    [{ anything: nested(100) }, 'anything is nested more than 64 deep'],
  ])('%j is refused, and the field is named', (plain, sentence) => {
    expect(() => read(plain)).toThrow(InvalidInput);
    expect(() => read(plain)).toThrow(sentence);
  });

  it.each([
    [{}, 'one is required'],
    [{ one: null, many: [] }, 'one must be a JSON object'],
    [{ one: {}, many: [] }, 'one.name is required'],
    [{ one: { name: 'x' } }, 'many is required'],
    [{ one: { name: 'x' }, many: null }, 'many must be a list'],
    [{ one: { name: 'x' }, many: [null] }, 'many[0] must be a JSON object'],
  ])('%j is refused where nested shapes are required', (plain, sentence) => {
    expect(() => parseInput(Required, plain)).toThrow(new InvalidInput(sentence));
  });

  it('survives ten thousand levels of nesting', () => {
    expect(() => read({ anything: nested(10_000) })).toThrow('nested more than');
    expect(() => read({ inner: { name: nested(10_000) } })).toThrow('inner.name must be text');
  });

  it('leaves null and absent of a nullable field apart', () => {
    expect(read({ note: null }).note).toBeNull();
    expect('note' in read({})).toBe(false);
  });

  it('takes null for an optional field as absence, nested ones too, and not for a required one', () => {
    const input = read({ limit: null, anything: null, tags: null, inner: null, many: null, recursive: null });
    expect(Object.keys(input)).toEqual(['id']);
    expect(() => read({ inner: { name: null } })).toThrow('inner.name must be text');
    expect(() => read({ tags: [null] })).toThrow('tags');
  });

  it('is not fooled by names of the prototype', () => {
    expect(() => parseInput(Shape, JSON.parse('{"__proto__": {"limit": 1}}'))).toThrow(
      '__proto__ is not a field',
    );
    expect(() => read({ constructor: 1 })).toThrow('constructor is not a field');
  });
});

describe('what a shape is documented with', () => {
  it('is an example of each id, by the name of its field', () => {
    expect(fieldsOf(Shape).get('id')?.example).toBe('id of id');
  });

  it('is a JSON Schema, in which what may be left out may be null', () => {
    expect(inputSchemaOf(Inner)).toEqual({
      type: 'object',
      properties: { name: { type: 'string', minLength: 1, maxLength: 10_000, description: 'A name' } },
      required: ['name'],
      additionalProperties: false,
    });
    expect(inputSchemaOf(Shape).properties).toMatchObject({
      limit: { type: ['integer', 'null'], minimum: 1, maximum: 10 },
      tags: { type: ['array', 'null'], items: { type: 'string' } },
      anything: { description: 'Anything' },
    });
  });
});

it('a number that no double is equal to keeps its digits where anything is taken, and is held to the rules of other fields', () => {
  const given = (field: string) => parseJson(`{"id":"${ID}",${field}}`) as object;
  const { anything } = read(given('"anything":{"id":8202522731445525542}'));
  expect(JSON.stringify(anything)).toBe('{"id":8202522731445525542}');
  const huge = '8202522731445525542';
  expect(() => read(given(`"limit":${huge}`))).toThrow('limit must be at most 10');
  expect(() => read(given('"limit":1e400'))).toThrow(/^limit must be/);
  expect(() => read(given(`"inner":${huge}`))).toThrow('inner must be a JSON object');
  expect(() => read(given(`"tags":[${huge}]`))).toThrow(/^tags must/);
  expect(() => read(given(`"note":${huge}`))).toThrow(/^note must/);
  expect(() => parseInput(Shape, parseJson(huge))).toThrow('The body must be a JSON object');
});
