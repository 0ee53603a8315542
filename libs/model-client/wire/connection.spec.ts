import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { recordStep } from '../../../test/fakes/step-recorder.js';
import { SignalCancellation } from '../cancellation.js';
import { ModelRegistry } from '../model-registry.js';
import { Endpoint, postJson } from './connection.js';
import { streamParts } from './part-stream.js';

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.close();
    if ('closeAllConnections' in server) (server as ReturnType<typeof createServer>).closeAllConnections();
    if (server.listening) await once(server, 'close');
  }
});

async function listen(server: Server): Promise<string> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
const serve = async (answer: RequestListener) => `http://${await listen(createServer(answer))}/v1`;
const call = (url: string) => ({ endpoint: new Endpoint(url), headers: {}, text: '{"text":"Grüße"}' });

describe('a request to a model', () => {
  it('says what it sends, and asks for nothing that is compressed', async () => {
    let seen: Record<string, unknown> = {};
    const url = await serve(async (request, response) => {
      const body = await new Response(Readable.toWeb(request) as ReadableStream).json();
      seen = { ...request.headers, body };
      response.end();
    });
    (await postJson(call(url))).resume();
    expect(seen).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'model-client',
      body: { text: 'Grüße' },
    });
    expect(seen['accept-encoding']).toBeUndefined();
  });

  it('takes the connection of the last one', async () => {
    let connections = 0;
    const server = createServer((_request, response) => response.end('data: 1\n\n'));
    server.on('connection', () => {
      connections += 1;
    });
    const url = `http://${await listen(server)}/v1`;
    for (let turn = 0; turn < 3; turn++) {
      const response = await postJson(call(url));
      for await (const _chunk of response) void _chunk;
    }
    expect(connections).toBe(1);
  });

  it('follows no redirect', async () => {
    const url = await serve((_request, response) =>
      response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    );
    await expect(postJson(call(url))).rejects.toMatchObject({ statusCode: 302 });
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('reads what is compressed with %s although nobody asked for it', async (encoding, compress) => {
    const url = await serve((request, response) => {
      response.writeHead(request.url === '/v1' ? 200 : 400, { 'content-encoding': encoding });
      response.end(compress('data: Grüße\n\n'));
    });
    expect(await text(await postJson(call(url)))).toBe('data: Grüße\n\n');
    await expect(postJson(call(`${url}/no`))).rejects.toMatchObject({ responseBody: 'data: Grüße\n\n' });
  });

  it('fails where what is compressed breaks off', async () => {
    const url = await serve((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.write(gzipSync('data: 1\n\n').subarray(0, 15), () => response.destroy());
    });
    await expect(postJson(call(url)).then(text)).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('reads no more of an error than its beginning', async () => {
    const gone: Promise<unknown>[] = [];
    const url = await serve((_request, response) => {
      gone.push(once(response, 'close'));
      response.writeHead(500, { 'x-a': ['1', '2'] });
      const more = () => {
        while (!response.destroyed && response.write('no '.repeat(10_000)));
        response.once('drain', more);
      };
      more();
    });
    const error = await postJson(call(url)).catch((thrown: unknown) => thrown as { responseBody: string });
    expect(error).toMatchObject({
      statusCode: 500,
      requestBodyValues: undefined,
      responseHeaders: { 'x-a': '1, 2' },
    });
    expect((error as { responseBody: string }).responseBody).toHaveLength(64 * 1024);
    await Promise.all(gone);
  });

  it('waits for a connection for so long, and no longer', async () => {
    // Takes the connection, and says nothing of what TLS wants to hear.
    const url = `https://${await listen(createTcpServer(socket => socket.unref()))}/v1`;
    await expect(postJson(call(url), 50)).rejects.toMatchObject({ cause: { code: 'ETIMEDOUT' } });
  });

  it('fails as a connection does where the server speaks another language', async () => {
    const baseUrl = `http://${await listen(createTcpServer(socket => socket.end('220 Welcome\r\n')))}/v1`;
    const compatible = [{ name: 'local', baseUrl, models: [] }];
    for (const client of ['sdk', 'native'] as const) {
      const model = new ModelRegistry({ compatible, client }).find('local/m');
      const step = recordStep(model, { retry: { attempts: 1, baseMs: 1, maxMs: 1 } });
      await expect(step).rejects.toMatchObject({ kind: 'network', retryable: true });
    }
  });

  it('says no key that cannot be sent', async () => {
    const request = { ...call('http://127.0.0.1:1/v1'), headers: { authorization: 'Bearer plain\nsecret' } };
    const error: Error = await postJson(request).then(
      () => new Error('sent'),
      (thrown: Error) => thrown,
    );
    expect(error.message).toContain('authorization');
    expect(error.message).not.toContain('secret');
  });

  it('ends when it is aborted, before its answer too', async () => {
    const stop = new AbortController();
    const url = await serve(() => stop.abort(new Error('enough')));
    const by = (signal: AbortSignal) =>
      postJson({ ...call(url), cancellation: new SignalCancellation(signal) });
    await expect(by(stop.signal)).rejects.toThrow('enough');
    await expect(by(AbortSignal.abort())).rejects.toThrow();
  });
});

describe('the answer', () => {
  it('waits in the connection while nobody reads it', async () => {
    const COUNT = 10_000;
    let sent = 0;
    const source = Readable.from(
      (function* () {
        for (; sent < COUNT; sent++) yield Buffer.from(`data: ${sent}\n\n`);
      })(),
    );
    const open = (emit: (part: { type: 'raw'; rawValue: unknown }) => void) => ({
      read: (rawValue: unknown) => emit({ type: 'raw', rawValue }),
      end() {},
    });
    const stream = streamParts(source, open, undefined);
    await once(source, 'pause');
    expect(sent).toBeLessThan(COUNT / 10);
    const values: unknown[] = [];
    for await (const part of stream) values.push('rawValue' in part && part.rawValue);
    expect(values).toEqual(Array.from({ length: COUNT }, (_one, index) => index));
  });

  it('ends the connection of whoever reads no more of it', async () => {
    const source = new Readable({ read() {} });
    const stream = streamParts(source, () => ({ read() {}, end() {} }), undefined);
    await stream.cancel();
    expect(source.destroyed).toBe(true);
  });
});
