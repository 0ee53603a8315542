import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import type { FastifyReply } from 'fastify';
import { EventStream } from './event-stream.js';

const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

/** A stream whose client reads nothing yet. */
async function stream(slowReaderMs: number): Promise<{ stream: EventStream; socket: Socket }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  open.push(
    () => socket.destroy(),
    () => server.close(),
  );
  socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
  const [, raw] = (await once(server, 'request')) as [unknown, ServerResponse];
  const reply = { raw, hijack: () => undefined, getHeaders: () => ({}) } as unknown as FastifyReply;
  return { stream: EventStream.start(reply, { slowReaderMs, onPending: () => undefined }), socket };
}

/** All that comes, without the marks of HTTP's chunks. */
async function textFrom(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', chunk => chunks.push(chunk)).resume();
  await once(socket, 'close');
  const text = Buffer.concat(chunks).toString();
  return text
    .slice(text.indexOf('\r\n\r\n') + 4)
    .replace(/(?:^|\r\n)[0-9a-f]+\r\n/g, '')
    .trimEnd();
}

const LARGE = 'x'.repeat(100_000);
const events = Array.from({ length: 200 }, (_, index) => ({ id: index + 1, event: 'large', data: LARGE }));

it('tells a reader that was too slow, after a whole event', async () => {
  const { stream: slow, socket } = await stream(50);
  await slow.send(events);
  expect(slow.signal.aborted).toBe(true);
  const parts = (await textFrom(socket)).split('\n\n').filter(Boolean);
  expect(parts.slice(-2)).toEqual([
    expect.stringContaining('event: stream.closed\ndata: {"reason":"slow_reader"'),
    'retry: 1000',
  ]);
  const whole = new Set(events.map(({ id }) => `id: ${id}\nevent: large\ndata: "${LARGE}"`));
  expect(parts.length).toBeGreaterThan(2);
  expect(parts.length).toBeLessThan(events.length);
  expect(parts.slice(0, -2).every(part => whole.has(part))).toBe(true);
});

it('hints to come back after a whole event where it ends before all was sent', async () => {
  const { stream: ending, socket } = await stream(60_000);
  const sent = ending.send(events);
  ending.endWithHint();
  await sent;
  const parts = (await textFrom(socket)).split('\n\n').filter(Boolean);
  expect(parts.at(-1)).toBe('retry: 1000');
  expect(parts.at(-2)).toMatch(/^id: \d+\nevent: large\ndata: "x{100000}"$/);
});
