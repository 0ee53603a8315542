import { expect, it } from '@jest/globals';
import { leanSchema } from './lean-schema.js';

it('leaves out what says nothing to a model, and keeps what does', () => {
  const schema = {
    type: 'object',
    properties: {
      maxLength: { type: ['integer', 'null'], minimum: 1, maximum: 9, description: 'How long' },
      sort: { anyOf: [{ type: 'string', enum: ['a', 'b'] }, { type: 'null' }], description: 'Order' },
      either: { anyOf: [{ type: 'string' }, { type: 'integer' }, { type: 'null' }] },
      items: {
        type: 'array',
        items: {
          type: 'object',
          properties: { at: { type: 'string', minLength: 1 } },
          required: ['at'],
          additionalProperties: false,
        },
      },
      cursor: { type: ['string', 'null'] },
    },
    required: [],
    additionalProperties: false,
  };
  expect(leanSchema(schema, ['cursor'])).toEqual({
    type: 'object',
    properties: {
      maxLength: { type: 'integer', minimum: 1, maximum: 9, description: 'How long' },
      sort: { type: 'string', enum: ['a', 'b'], description: 'Order' },
      either: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
      items: {
        type: 'array',
        items: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
      },
    },
  });
});

it('does not touch the schema itself', () => {
  const schema = Object.freeze({
    type: 'object',
    properties: Object.freeze({ a: { type: ['string', 'null'] } }),
  });
  expect(leanSchema(schema)).toEqual({ type: 'object', properties: { a: { type: 'string' } } });
  expect(schema.properties.a.type).toEqual(['string', 'null']);
});
