import 'reflect-metadata';
import { expect, it } from '@jest/globals';
import { parseJson } from '#libs/exact-json/index.js';
import { fieldsWith } from './field.js';
import { redact } from './redaction.js';

const Field = fieldsWith(() => 'id');

class Inner {
  @Field.text('A link that lets one in', { secret: true }) link: string;
  @Field.integer('A count') token: number;
}

class Sample {
  @Field.text('A name') name: string;
  @Field.text('A word', { format: 'password' }) word: string;
  @Field.object('Some', () => Inner, { list: true }) inner: Inner[];
  @Field.json('Anything') free: unknown;
}

it('hides what the shape marks, at any depth, and what is named like a secret', () => {
  const value = {
    name: 'Ada',
    word: 'open sesame',
    inner: [{ link: 'https://x/secret', token: 3 }],
    free: {
      api_key: 'atl_x',
      Authorization: 'Bearer x',
      max_tokens: '5',
      nested: [{ client_secret: { a: 1 } }],
    },
  };
  expect(redact(Sample, value)).toEqual({
    name: 'Ada',
    word: '[hidden]',
    inner: [{ link: '[hidden]', token: 3 }],
    free: {
      api_key: '[hidden]',
      Authorization: '[hidden]',
      max_tokens: '5',
      nested: [{ client_secret: '[hidden]' }],
    },
  });
});

it('shows numbers with all their digits', () => {
  const shown = redact(Sample, parseJson('{"free":{"id":8202522731445525542,"token":8202522731445525542}}'));
  expect(JSON.stringify(shown)).toBe('{"free":{"id":8202522731445525542,"token":8202522731445525542}}');
});

it('leaves absent secrets as they are', () => {
  expect(redact(Sample, { word: null })).toEqual({ word: null });
});

it('cuts long texts, and leaves out what is large all the same', () => {
  expect(redact(Sample, { name: 'x'.repeat(3_000) })).toEqual({
    name: `${'x'.repeat(2_000)}… (1000 characters more)`,
  });
  const many = Array.from({ length: 5_000 }, (_, n) => n);
  expect(redact(null, many)).toEqual({ left_out: expect.stringMatching(/^\d+ bytes$/) });
});

it('looks at no more values than it can show', () => {
  let looked = 0;
  const item = {
    get name() {
      looked++;
      return 'x';
    },
  };
  const tooMany = { left_out: 'more than 8192 values' };
  expect(redact(null, Array(90_000).fill(item))).toEqual(tooMany);
  expect(looked).toBe(0);
  expect(redact(null, Array(100).fill(Array(90).fill(item)))).toEqual(tooMany);
  expect(looked).toBeLessThan(8_192);
});

it('cuts long names', () => {
  expect(redact(null, { ['k'.repeat(3_000)]: 1 })).toEqual({
    [`${'k'.repeat(2_000)}… (1000 characters more)`]: 1,
  });
});

it('keeps what PostgreSQL cannot store out of texts', () => {
  expect(redact(null, ['a\0b', '\ud800'])).toEqual(['a\ufffdb', '\ufffd']);
  expect(redact(null, { 'a\0': 1 })).toEqual({ 'a\ufffd': 1 });
});

it('takes any value, however deep or odd', () => {
  let deep: unknown = 'end';
  for (let level = 0; level < 500; level++) deep = [deep];
  expect(() => JSON.stringify(redact(null, deep))).not.toThrow();
  for (const value of [null, undefined, 1, true, new Date(0)])
    expect(() => redact(null, value)).not.toThrow();
});
