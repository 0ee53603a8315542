import { expect, it } from '@jest/globals';
import { signatureOf } from './signature.js';

it('says in a line what an input takes', () => {
  const text = { type: 'string' };
  const schema = {
    properties: {
      path: text,
      mode: { anyOf: [{ type: 'string', enum: ['public', 'link'] }, { type: 'null' }] },
      size: { type: ['integer', 'null'] },
      note: { type: ['string', 'null'] },
      tags: { type: ['array', 'null'], items: text },
      edits: {
        type: 'array',
        items: { properties: { old_text: text, all: { type: 'boolean' } }, required: ['old_text'] },
      },
      data: {},
    },
    required: ['path', 'edits'],
  };
  expect(signatureOf(schema)).toBe(
    'path, mode?: public|link, size?: integer, note?, tags?: string[], edits: {old_text, all?: boolean}[], data?',
  );
});

it('leaves out what is filled in', () => {
  const schema = {
    properties: { workspace_id: { type: 'string' }, path: { type: 'string' } },
    required: ['path'],
  };
  expect(signatureOf(schema, ['workspace_id'])).toBe('path');
});

it('says nothing of an input that takes nothing', () => {
  expect(signatureOf({})).toBe('');
});
