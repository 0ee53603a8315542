import { expect, it } from '@jest/globals';
import type { FieldDef, QueryResult } from 'pg';
import { MessageReader } from './message-reader.js';
import { type KnownStatements, PreparedQuery } from './prepared-query.js';

function message(kind: string, content: Buffer): Buffer {
  const head = Buffer.alloc(5, kind, 'latin1');
  head.writeUInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}

function row(...values: (string | null)[]): Buffer {
  const count = Buffer.alloc(2);
  count.writeInt16BE(values.length);
  const parts = values.map(value => {
    const size = Buffer.alloc(4);
    size.writeInt32BE(value === null ? -1 : Buffer.byteLength(value));
    return Buffer.concat([size, Buffer.from(value ?? '')]);
  });
  return message('D', Buffer.concat([count, ...parts]));
}

const bound = message('2', Buffer.alloc(0));
const done = message('C', Buffer.from('SELECT 2\0'));
const ready = message('Z', Buffer.from('I'));
const rows = [row('1', 'ä€'), row(null, '')];

/** A reader whose connection executes a statement of two columns. */
function reading(): { reader: MessageReader; answer: Promise<QueryResult>; told: string[] } {
  const known: KnownStatements = { shapes: new Map(), types: { getTypeParser: () => text => text } };
  const query = new PreparedQuery({ name: 's1', text: 'select', values: [] }, 0, known);
  query.handleRowDescription({ fields: ['a', 'b'].map(name => ({ name, dataTypeID: 25 })) as FieldDef[] });
  const told: string[] = [];
  const reader = new MessageReader(
    () => query,
    event => {
      told.push(event);
      if (event === 'readyForQuery') query.handleReadyForQuery();
      if (event === 'dataRow') throw new Error('told');
    },
  );
  return { reader, answer: query.answer, told };
}

it('reads the answer to a prepared statement', async () => {
  const { reader, answer, told } = reading();
  reader.take(Buffer.concat([bound, ...rows, done, ready]));
  expect(await answer).toMatchObject({
    command: 'SELECT',
    rowCount: 2,
    rows: [
      { a: '1', b: 'ä€' },
      { a: null, b: '' },
    ],
  });
  expect(told).toEqual(['readyForQuery']);
});

it('leaves to the parser what did not arrive as a whole', () => {
  const whole = Buffer.concat([bound, rows[0] as Buffer]);
  for (let cut = bound.length + 1; cut < whole.length; cut++) {
    const { reader } = reading();
    reader.take(whole.subarray(0, cut));
    expect(() => reader.take(whole.subarray(cut))).toThrow('told');
  }
});

it.each([
  ['a message without a length', Buffer.from('Z\0\0\0\x03I')],
  ['a message that never ends', Buffer.from('Z\xff\xff\xff\xffgarbage', 'latin1')],
  ['a row without columns', message('D', Buffer.alloc(1))],
  ['a row with less than it says', message('D', Buffer.from('\0\x02\0\0\0\x01a'))],
  ['a row with a value longer than it', message('D', Buffer.from('\0\x01\0\0\0\x05abcd'))],
  ['the end of a command without its last byte', message('C', Buffer.from('SELECT 1'))],
  ['no state', message('Z', Buffer.alloc(0))],
])('refuses %s', (_, bytes) => {
  const { reader } = reading();
  expect(() => reader.take(Buffer.concat([bytes, ready]))).toThrow(RangeError);
});
