import { describe, expect, it } from '@jest/globals';
import { NotFound, UnsupportedMediaType } from '../errors/index.js';
import { Field } from './field.js';
import { fieldOfParam, InputPipe } from './input.js';

class Inner {
  @Field.text('A name', { min: 1, example: 'x' })
  name: string;
}

class Shape {
  @Field.id('The workspace')
  workspace_id: string;

  @Field.integer('How many', { min: 1, max: 10, optional: true, example: 1 })
  limit?: number;

  @Field.boolean('Whether', { optional: true })
  recursive?: boolean;

  @Field.text('Tags', { optional: true, list: true, maxItems: 2, example: ['a'] })
  tags?: string[];

  @Field.object('One inside', () => Inner, { optional: true })
  inner?: Inner;

  @Field.object('Many inside', () => Inner, { optional: true, list: true })
  many?: Inner[];

  @Field.json('Anything', { optional: true })
  anything?: unknown;

  @Field.text('May be null', { optional: true, nullable: true, example: 'x' })
  note?: string | null;
}

const ID = '0192f3a1-7c1e-7d4a-9b7e-3f2a5c6d7e8f';
const pipe = new InputPipe();
const read = (raw: { params?: object; query?: object; body?: unknown }) =>
  pipe.transform(
    { params: { workspaceId: ID }, query: {}, body: undefined, ...raw } as never,
    { metatype: Shape, type: 'custom' } as never,
  ) as Shape;
const nested = (depth: number) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);

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
    [{ body: { limit: '5' } }, 'limit must be a whole number'],
    [{ query: { limit: 'many' } }, 'limit must be a whole number'],
    [{ body: { other: 1 } }, 'other is not a field of this request'],
    [{ body: { workspace_id: ID } }, 'workspace_id is already given by the address'],
    [{ body: { tags: 'a' } }, 'tags must be a list'],
    [{ body: { tags: ['a', 'b', 'c'] } }, 'tags must contain no more than 2 elements'],
    [{ body: { inner: { name: '' } } }, 'inner.name must have 1 to 10000 characters'],
    [{ body: { inner: { nom: 'x' } } }, 'inner.nom is not a field of this request'],
    [{ body: { inner: 'x' } }, 'inner must be a JSON object'],
    [{ body: { many: [{ name: 'x' }, { name: 1 }] } }, 'many[1].name'],
    [{ body: { note: 'a\0b' } }, 'note must be well-formed text without NUL characters'],
    [{ body: { note: '\ud800' } }, 'note must be well-formed text without NUL characters'],
    [{ body: { anything: nested(100) } }, 'anything is nested more than 64 deep'],
    [{ body: [] }, 'The body must be a JSON object'],
    [{ body: 'text' }, 'The body must be a JSON object'],
  ])('refuses %j and names the field', (raw, sentence) => {
    expect(() => read(raw)).toThrow(
      expect.objectContaining({ status: 422, detail: expect.stringContaining(sentence) }),
    );
  });

  it('survives ten thousand levels of nesting', () => {
    expect(() => read({ body: { anything: nested(10_000) } })).toThrow('nested more than');
    expect(() => read({ body: { inner: { name: nested(10_000) } } })).toThrow('inner.name must be text');
  });

  it('leaves null and absent of a nullable field apart', () => {
    expect(read({ body: { note: null } }).note).toBeNull();
    expect('note' in read({ body: {} })).toBe(false);
  });

  it('takes null for an optional field as absence, nested ones too, and not for a required one', () => {
    const input = read({
      body: { limit: null, anything: null, tags: null, inner: null, many: null, recursive: null },
    });
    expect(Object.keys(input)).toEqual(['workspace_id']);
    expect(() => read({ body: { inner: { name: null } } })).toThrow('inner.name must be text');
    expect(() => read({ body: { tags: [null] } })).toThrow('tags');
    expect(() => read({ query: { limit: 'null' } })).toThrow('limit must be a whole number');
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
