import { describe, expect, it } from '@jest/globals';
import { NotFound, UnsupportedMediaType } from '../errors/index.js';
import { Field } from './field.js';
import { fieldOfParam, InputPipe } from './input.js';

class Shape {
  @Field.id('The workspace') workspace_id: string;
  @Field.integer('How many', { min: 1, max: 10, optional: true, example: 1 }) limit?: number;
  @Field.boolean('Whether', { optional: true }) recursive?: boolean;
  @Field.text('Tags', { optional: true, list: true, maxItems: 2, example: ['a'] }) tags?: string[];
}

const ID = '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f';
const pipe = new InputPipe();
const read = (raw: { params?: object; query?: object; body?: unknown }) =>
  pipe.transform(
    { params: { workspaceId: ID }, query: {}, body: undefined, ...raw } as never,
    { metatype: Shape, type: 'custom' } as never,
  ) as Shape;

describe('InputPipe', () => {
  it('gathers path, query and body into one instance of the shape', () => {
    const input = read({ query: { limit: '5', recursive: 'true' }, body: { tags: ['a'] } });
    expect(input).toBeInstanceOf(Shape);
    expect(input).toEqual({ workspace_id: ID, limit: 5, recursive: true, tags: ['a'] });
  });

  it('takes one value of a repeatable query parameter as a list of one', () => {
    expect(read({ query: { tags: 'a' } }).tags).toEqual(['a']);
  });

  it.each([
    [{ body: { limit: 0 } }, 'limit must be at least 1'],
    [{ query: { limit: 'many' } }, 'limit must be a whole number'],
    [{ body: { other: 1 } }, 'other is not a field of this request'],
    [{ body: { workspace_id: ID } }, 'workspace_id is already given by the address'],
    [{ body: [] }, 'The body must be a JSON object'],
    [{ body: 'text' }, 'The body must be a JSON object'],
  ])('refuses %j and names the field', (raw, sentence) => {
    expect(() => read(raw)).toThrow(
      expect.objectContaining({ status: 422, detail: expect.stringContaining(sentence) }),
    );
  });

  it('treats an id in the address that is none as one that nothing has', () => {
    expect(() => read({ params: { workspaceId: 'x' } })).toThrow(NotFound);
  });

  it('is not fooled by names of the prototype', () => {
    expect(() => read({ body: JSON.parse('{"__proto__": {"limit": 1}}') })).toThrow(
      '__proto__ is not a field',
    );
    expect(() => read({ body: { constructor: 1 } })).toThrow('constructor is not a field');
  });

  it('asks for JSON where it got bytes', () => {
    expect(() => read({ body: { pipe: () => undefined } })).toThrow(UnsupportedMediaType);
  });
});

describe('fieldOfParam', () => {
  it.each([
    ['workspaceId', 'workspace_id'],
    ['callId', 'call_id'],
    ['orgId', 'organization_id'],
    ['id', 'id'],
  ])('maps %s to %s', (param, field) => {
    expect(fieldOfParam(param)).toBe(field);
  });
});
