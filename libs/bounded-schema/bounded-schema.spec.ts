import { describe, expect, it } from '@jest/globals';
import { BoundedSchema, QuickChecks, readJson, SchemaFault } from './index.js';

const PERSON = {
  type: 'object',
  properties: { name: { type: 'string', pattern: '^[A-Z]' }, role: { enum: ['a', 'b'] } },
  required: ['name'],
  additionalProperties: false,
};

describe('a schema', () => {
  it('tells where a value does not fit, and how', () => {
    const schema = BoundedSchema.compile(PERSON);
    expect(schema.faultsOf({ name: 'Ada', role: 'a' })).toEqual([]);
    expect(schema.faultsOf({ name: 'ada', role: 'c', age: 3 })).toEqual([
      '(whole value): must NOT have additional properties ("age")',
      '/name: must match pattern "^[A-Z]"',
      '/role: must be equal to one of the allowed values: "a", "b"',
    ]);
  });

  it.each([
    ['2020-12', { prefixItems: [{ type: 'number' }] }],
    [
      '2020-12 by name',
      { $schema: 'https://json-schema.org/draft/2020-12/schema', prefixItems: [{ type: 'number' }] },
    ],
    ['draft-07', { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'number' }] }],
  ])('of %s is understood', (_, schema) => {
    expect(BoundedSchema.compile(schema).faultsOf(['x'])).toEqual(['/0: must be number']);
  });

  it('may refer to itself', () => {
    const tree = BoundedSchema.compile({
      $id: 'https://example.com/tree',
      $ref: '#/$defs/node',
      $defs: {
        node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, additionalProperties: false },
      },
    });
    expect(tree.faultsOf({ next: { next: {} } })).toEqual([]);
    expect(tree.faultsOf({ next: { next: 1 } })).toEqual(['/next/next: must be object']);
  });

  it.each([
    ['no object', 'string', /is an object/],
    ['another draft', { $schema: 'http://json-schema.org/draft-04/schema#' }, /2020-12 or draft-07/],
    ['a wrong type', { type: 'strin' }, /JSON Schema/],
    ['a reference to elsewhere', { $ref: 'https://example.com/s.json' }, /resolve reference/],
    ['a pattern with look-around', { pattern: '(?=a)b' }, /cannot be used/],
    ['$async', { $async: true, type: 'object' }, /async/],
    ['too many bytes', { description: 'x'.repeat(40_000) }, /at most 32768 bytes/],
    ['too many levels', Array.from({ length: 40 }).reduce<object>(not => ({ not }), {}), /nested deeper/],
  ])('with %s is refused', (_, schema, reason) => {
    expect(() => BoundedSchema.compile(schema)).toThrow(SchemaFault);
    expect(() => BoundedSchema.compile(schema)).toThrow(reason);
  });

  it('cannot hold the process up', () => {
    const backtracking = BoundedSchema.compile({ type: 'string', pattern: '^(a+)+$' });
    expect(backtracking.faultsOf(`${'a'.repeat(50_000)}!`)).toHaveLength(1);
    const twice = { anyOf: [{ $ref: '#/$defs/x' }, { $ref: '#/$defs/x' }] };
    const exponential = BoundedSchema.compile({
      $ref: '#/$defs/x',
      $defs: { x: { type: 'object', properties: { x: twice } } },
    });
    const deep = Array.from({ length: 40 }).reduce<object>(x => ({ x }), { x: 1 });
    expect(exponential.faultsOf(deep)).toEqual([expect.stringContaining('could not be checked in time')]);
  });
});

describe('a check at once', () => {
  const plain = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: {
      name: { type: ['string', 'null'], minLength: 2, description: 'Of a person' },
      age: { type: 'integer', minimum: 0, exclusiveMaximum: 200, default: 1 },
      roles: { type: 'array', maxItems: 2, items: { enum: ['a', { b: 1 }] } },
      more: { type: 'object', additionalProperties: { type: 'boolean' } },
    },
    required: ['name'],
    additionalProperties: false,
  };

  it.each([
    { name: 'Ada', age: 3, roles: ['a', { b: 1 }], more: { x: true } },
    { name: null },
    { name: 'A', age: -1, roles: ['c', 'a', { b: 2 }], more: { x: 1 }, other: 1 },
    { age: 200.5 },
    ['Ada'],
    null,
  ])('finds in %j what one in a thread finds', value => {
    const found = new QuickChecks().faultsOf(plain, value);
    expect(found).toEqual(BoundedSchema.compile(plain).faultsOf(value));
  });

  it.each([
    ['a pattern', { pattern: '^a' }],
    ['names by a pattern', { patternProperties: { '^a': {} } }],
    ['a reference', { $ref: '#/$defs/x', $defs: { x: {} } }],
    ['a choice', { anyOf: [{}, {}] }],
    ['comparing all with all', { uniqueItems: true }],
    ['a choice deep down', { properties: { a: { items: { oneOf: [{}] } } } }],
    ['a list of schemas', { items: [{ type: 'number' }] }],
    ['an unknown keyword', { minimal: 1 }],
    ['a value that is none of the keyword', { maxLength: 'x' }],
    ['a type that is none', { type: 'strin' }],
    ['no value at all', { enum: [] }],
    ['another draft', { $schema: 'http://json-schema.org/draft-04/schema#' }],
    ['much text', { description: 'x'.repeat(9_000) }],
  ])('is left to a thread where the schema has %s', (_, schema) => {
    expect(new QuickChecks().faultsOf(schema, 'abc')).toBeUndefined();
  });

  it.each([
    ['long', 'x'.repeat(20_000)],
    ['of many values', Array.from({ length: 2_000 }, () => 1)],
    ['with long names', { ['x'.repeat(20_000)]: 1 }],
    ['large deep down', { a: [{ b: ['x'.repeat(10_000), 'x'.repeat(10_000)] }] }],
  ])('is left to a thread where the value is %s', (_, value) => {
    const checks = new QuickChecks();
    expect(checks.faultsOf({}, value)).toBeUndefined();
    expect(checks.faultsOf({}, 'x')).toEqual([]);
  });
});

describe('JSON in an answer', () => {
  it.each([
    ['bare', '{"a":1}'],
    ['in a fence', 'Here you are:\n```json\n{"a":1}\n```\nGood luck!'],
    ['among words', 'It is {"a":1}, I think.'],
    ['in a fence without a name, among blanks', '```  \n\n {"a":1}\n\n   ```'],
    ['behind what only begins like a fence', `${'```\n'.repeat(3)}{"a":1}`],
  ])('is found %s', (_, text) => {
    expect(readJson(text)).toEqual({ value: { a: 1 } });
  });

  it('is missed in an answer that is made to stall', () => {
    expect(readJson(`\`\`\`${'\n '.repeat(200_000)}x`)).toMatchObject({ fault: expect.any(String) });
  });

  it('is missed with a reason', () => {
    expect(readJson('')).toEqual({ fault: 'it is empty' });
    expect(readJson('{"a":')).toEqual({ fault: expect.stringContaining('JSON') });
  });
});
