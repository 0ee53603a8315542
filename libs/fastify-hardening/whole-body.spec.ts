import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { wholeBody } from './body.js';

/** A request whose body comes in what the test writes. */
function arriving(headers: Record<string, string> = {}) {
  const body = new PassThrough();
  return { body, request: Object.assign(body, { headers }) as unknown as IncomingMessage };
}

describe('the body of a request', () => {
  it('is all of its parts', async () => {
    const { body, request } = arriving();
    const whole = wholeBody(request, 10);
    body.write('abc');
    body.end('def');
    expect((await whole).toString()).toBe('abcdef');
  });

  it('is refused as soon as it is too long, and can still be read to its end', async () => {
    const { body, request } = arriving();
    const whole = wholeBody(request, 4);
    body.write('abc');
    body.write('def');
    await expect(whole).rejects.toMatchObject({ status: 413 });
    expect(body.destroyed).toBe(false);
    const ended = new Promise(resolve => body.once('end', resolve));
    body.end('ghi');
    body.resume();
    await ended;
  });

  it('is refused unread where its length says enough', async () => {
    const { body, request } = arriving({ 'content-length': '5' });
    await expect(wholeBody(request, 4)).rejects.toMatchObject({ status: 413 });
    expect(body.readableFlowing).toBe(null);
  });

  it.each([undefined, new Error('reset')])('is cut off when its sender goes: %s', async error => {
    const { body, request } = arriving();
    const whole = wholeBody(request, 10);
    body.write('abc');
    body.destroy(error);
    await expect(whole).rejects.toMatchObject({ status: 400, message: 'The body was cut off' });
    await expect(wholeBody(request, 10)).rejects.toMatchObject({ status: 400 });
  });

  it('is nothing where it has been read already', async () => {
    const { body, request } = arriving();
    body.end();
    body.resume();
    await new Promise(resolve => body.once('end', resolve));
    expect(await wholeBody(request, 10)).toHaveLength(0);
  });
});
