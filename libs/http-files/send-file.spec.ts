import { once } from 'node:events';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import fastify, { type FastifyInstance } from 'fastify';
import { sendFile } from './index.js';

const BYTES = Buffer.from('0123456789');

let http: FastifyInstance;
let closed: number;
let ended: Promise<unknown>;
let read: () => Promise<Buffer>;

beforeEach(() => {
  http = fastify();
  closed = 0;
  read = async () => BYTES;
  http.get('/file', (request, reply) => {
    const entry = { path: 'folder/note.txt', size: BYTES.length, etag: '"one"' };
    const close = async () => void closed++;
    const stream = ({ start, end } = { start: 0, end: BYTES.length - 1 }) => {
      const part = Readable.from([BYTES.subarray(start, end + 1)]);
      ended = once(part.once('close', close), 'close');
      return part;
    };
    const sent = sendFile(request, reply, { entry, bytes: () => read(), stream, close }, false);
    sent.catch((error: unknown) => reply.send(error));
  });
});
afterEach(() => http.close());

const get = (headers = {}) => http.inject({ url: '/file', headers });

it('sends a small file whole, says what it is, and closes it', async () => {
  const { statusCode, headers, body } = await get();
  expect([statusCode, body]).toEqual([200, BYTES.toString()]);
  expect(headers).toMatchObject({ 'content-length': '10', etag: '"one"' });
  expect(headers['content-disposition']).toContain('note.txt');
  expect(closed).toBe(1);
});

it('describes no file where it cannot be read any more, and closes it', async () => {
  read = async () => {
    throw Object.assign(new Error('It became shorter'), { statusCode: 503 });
  };
  const { statusCode, headers, body } = await get();
  expect(statusCode).toBe(503);
  expect(headers).not.toHaveProperty('content-disposition');
  expect(headers['content-type']).toContain('application/json');
  expect(Number(headers['content-length'])).toBe(body.length);
  expect(closed).toBe(1);
});

it('reads nothing of a file that has not changed, and closes it', async () => {
  read = () => Promise.reject(new Error('It is read'));
  const { statusCode, headers, body } = await get({ 'if-none-match': '"one"', 'cache-control': 'no-cache' });
  expect([statusCode, headers.etag, body]).toEqual([304, '"one"', '']);
  expect(closed).toBe(1);
});

it('sends a range as a stream, which closes the file', async () => {
  const { statusCode, headers, body } = await get({ range: 'bytes=2-4' });
  expect([statusCode, headers['content-range'], body]).toEqual([206, 'bytes 2-4/10', '234']);
  await ended;
  expect(closed).toBe(1);
});
