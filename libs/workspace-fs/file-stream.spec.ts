import { once } from 'node:events';
import { truncateSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { OpenFile } from './open-file.js';
import { openDescriptors, TestWorkspace } from './workspace.fixture.js';

const BYTES = 3_000_001;

let workspace: TestWorkspace;
let descriptors: number;
let server: http.Server;
let address: string;
/** What is done with a file that is asked for; default it is sent. */
let answer: (file: OpenFile, response: http.ServerResponse) => void;

beforeEach(async () => {
  descriptors = openDescriptors();
  workspace = await TestWorkspace.make({ maxFileBytes: 100_000_000 });
  answer = (file, response) => void file.stream().pipe(response);
  server = http.createServer((request, response) => {
    workspace.fs.openRead((request.url ?? '').slice(1)).then(file => answer(file, response));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise(resolve => server.close(resolve));
  await workspace.remove();
  // Those that another file's tests left may close meanwhile.
  expect(openDescriptors()).toBeLessThanOrEqual(descriptors);
});

const contentOf = (name: string) => Buffer.alloc(BYTES, `${name} has this content of its own `);
const get = async (name: string) => Buffer.from(await (await fetch(`${address}/${name}`)).arrayBuffer());

it('sends many files at once, each its own bytes', async () => {
  const names = Array.from({ length: 12 }, (_, n) => `file-${n}`);
  for (const name of names) await workspace.put(name, contentOf(name));
  for (let round = 0; round < 2; round++) {
    const received = await Promise.all(names.map(get));
    expect(received.map((bytes, n) => bytes.equals(contentOf(names[n] ?? '')))).toEqual(
      names.map(() => true),
    );
  }
});

it('gives what keeps its bytes bytes of their own', async () => {
  await workspace.put('a', contentOf('a'));
  const file = await workspace.fs.openRead('a');
  const kept = file.stream().pipe(new PassThrough({ highWaterMark: BYTES * 2 }));
  expect((await buffer(kept)).equals(contentOf('a'))).toBe(true);
});

it('closes the file when the client goes away', async () => {
  await workspace.put('large', Buffer.alloc(50_000_000));
  const closed = new Promise<void>(resolve => {
    answer = (file, response) => {
      const stream = file.stream();
      response.once('close', () => stream.destroy());
      stream.once('close', resolve).pipe(response);
    };
  });
  const request = http.get(`${address}/large`);
  const [response] = await once(request, 'response');
  response.destroy();
  await closed;
});

it('fails where the file becomes shorter', async () => {
  await workspace.put('a', contentOf('a'));
  const failed = new Promise(resolve => {
    answer = (file, response) => {
      truncateSync(workspace.at('a'), 1000);
      const stream = file.stream();
      finished(stream).catch(error => {
        resolve(error);
        response.destroy();
      });
      stream.pipe(response);
    };
  });
  await expect(get('a')).rejects.toThrow();
  expect(await failed).toMatchObject({ code: 'busy', path: 'a' });
});
