import { describe, expect, it } from '@jest/globals';
import { BoundedSchema, readJson, SchemaFault } from './index.js';

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
    [
      'a reference without end',
      { $defs: { a: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' },
      /refer to itself without end/,
    ],
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

describe('JSON in an answer', () => {
  it.each([
    ['bare', '{"a":1}'],
    ['in a fence', 'Here you are:\n```json\n{"a":1}\n```\nGood luck!'],
    ['among words', 'It is {"a":1}, I think.'],
    ['in a fence without a name, among blanks', '```  \n\n {"a":1}\n\n   ```'],
    ['behind what only begins like a fence', `${'```\n'.repeat(3)}{"a":1}`],
  ])('is found %s', (_, text) => {
    const found = readJson(text);
    expect('text' in found && JSON.parse(found.text)).toEqual({ a: 1 });
  });

  it('is missed in an answer that is made to stall', () => {
    expect(readJson(`\`\`\`${'\n '.repeat(200_000)}x`)).toMatchObject({ fault: expect.any(String) });
  });

  it('is missed with a reason', () => {
    expect(readJson('')).toEqual({ fault: 'it is empty' });
    expect(readJson('{"a":')).toEqual({ fault: expect.stringContaining('JSON') });
  });
});
