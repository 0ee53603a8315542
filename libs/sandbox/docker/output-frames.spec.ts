import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { OutputFrames } from './output-frames.js';

function frame(stream: number, body: string): Buffer {
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(Buffer.byteLength(body), 4);
  return Buffer.concat([header, Buffer.from(body)]);
}

it.each([1, 3, 8, 1000])('takes frames apart that come in pieces of %i bytes', async size => {
  const source = new PassThrough();
  const { stdout, stderr } = new OutputFrames(source);
  const bytes = Buffer.concat([frame(1, 'one'), frame(2, 'zwei €'), frame(1, ''), frame(1, ' two')]);
  for (let at = 0; at < bytes.length; at += size) source.write(bytes.subarray(at, at + size));
  source.end();
  expect(await Promise.all([text(stdout), text(stderr)])).toEqual(['one two', 'zwei €']);
});

it('ends both streams when the connection breaks', async () => {
  const source = new PassThrough();
  const { stdout, stderr } = new OutputFrames(source);
  source.write(frame(1, 'half a frame').subarray(0, 12));
  source.destroy(new Error('gone'));
  expect(await Promise.all([text(stdout), text(stderr)])).toEqual(['half', '']);
});
