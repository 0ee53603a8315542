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
    },
    required: [],
    additionalProperties: false,
  };
  expect(leanSchema(schema)).toEqual({
    type: 'object',
    properties: {
      maxLength: { type: 'integer', description: 'How long' },
      sort: { type: 'string', enum: ['a', 'b'], description: 'Order' },
      either: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
      items: {
        type: 'array',
        items: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
      },
    },
  });
});

it('has the fields alone of which a model is told, in the words that it is told', () => {
  const schema = {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Path in the workspace' },
      edits: {
        type: 'array',
        description: 'The edits',
        items: {
          type: 'object',
          properties: {
            text: { type: 'string', description: 'The text' },
            description: { type: 'string', description: 'What for' },
          },
          required: ['text'],
        },
      },
      cursor: { type: 'string', description: 'Where to go on' },
    },
    required: ['path'],
  };
  expect(leanSchema(schema, { path: '', edits: '', 'edits.text': 'Once', 'edits.description': '' })).toEqual({
    type: 'object',
    properties: {
      path: { type: 'string' },
      edits: {
        type: 'array',
        items: {
          type: 'object',
          properties: { text: { type: 'string', description: 'Once' }, description: { type: 'string' } },
          required: ['text'],
        },
      },
    },
    required: ['path'],
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
