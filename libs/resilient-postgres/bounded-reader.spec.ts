import { PassThrough } from 'node:stream';
import { expect, it } from '@jest/globals';
import { parse } from 'pg-protocol';
import { boundReader } from './bounded-reader.js';

/** A message of the server: its kind, its length with the four bytes of that, its content. */
function message(kind: string, content: Buffer): Buffer {
  const head = Buffer.alloc(5, kind, 'latin1');
  head.writeUInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}

function parsed(bytes: Buffer): unknown[] {
  const messages: unknown[] = [];
  const stream = new PassThrough();
  void parse(stream, answer => messages.push(answer));
  for (const listener of stream.listeners('data')) listener.call(stream, bytes);
  return messages;
}

it.each([
  ['an error', 'E', 'SERROR\0C42601\0Mno\0\x55'],
  ['an error that ends within a field', 'E', 'SERROR\0Mno'],
  ['a notice', 'N', 'SNOTICE\0Mso\0\x01'],
  ['a notice of nothing', 'N', ''],
  ['the end of a command', 'C', 'SELECT 1'],
])('%s without its last zero byte is refused', (_, kind, content) => {
  boundReader();
  expect(() => parsed(message(kind, Buffer.from(content, 'latin1')))).toThrow('has no end');
});

it('what is whole is read, one message after the other', () => {
  boundReader();
  const bytes = [
    message('N', Buffer.from('SNOTICE\0Mso\0\0')),
    message('C', Buffer.from('SELECT 1\0')),
    message('E', Buffer.from('SERROR\0Mno\0\0')),
  ];
  expect(parsed(Buffer.concat(bytes))).toMatchObject([
    { name: 'notice', message: 'so' },
    { name: 'commandComplete', text: 'SELECT 1' },
    { name: 'error', message: 'no' },
  ]);
});
