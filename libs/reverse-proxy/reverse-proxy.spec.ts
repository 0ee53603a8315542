import { randomBytes } from 'node:crypto';
import { on, once } from 'node:events';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Connection, TURN_BYTES } from './connection.js';
import { statusOf } from './index.js';
import { ProxyBench } from './reverse-proxy.fixture.js';

let bench: ProxyBench;
beforeEach(async () => {
  bench = await ProxyBench.start();
});
afterEach(() => bench.stop());

const faults = () => bench.failures.map(({ fault }) => fault);
const bodyOf = (answer: string) => answer.slice(answer.indexOf('\r\n\r\n') + 4);

/** Resolves when a connection has ended, in whichever way. */
const closed = async (socket: Socket | undefined) => {
  if (socket && !socket.destroyed) await new Promise(resolve => socket.once('close', resolve));
};

/** Writes the same bytes for as long as they are taken. */
const endlessly = (text: string) => (socket: Socket) => {
  socket.once('data', () => {
    const many = Buffer.from(text.repeat(2000));
    const more = () => {
      while (!socket.destroyed && socket.write(many));
    };
    socket.on('drain', more);
    more();
  });
};

describe('a request', () => {
  const sent = async (request: string, until = /\r\n\r\n/) => {
    const received = bench.received(until);
    await bench.exchange(request, /\r\n\r\n/);
    return received;
  };

  it('goes on with its target and headers as they are, without those about the connection', async () => {
    const text = await sent(
      [
        'GET /a%2Fb/../c?x=%00&y HTTP/1.1',
        'Host: app.example:8080',
        'X-Twice: one',
        'x-twice: two',
        'Authorization: Bearer own',
        'Connection: close, X-Named, Authorization-Not',
        'X-Named: gone',
        'Keep-Alive: timeout=5',
        'Proxy-Authorization: Basic x',
        'Proxy-Connection: close',
        'TE: gzip',
        'Upgrade: h2c',
        'X-Forwarded-For: 6.6.6.6',
        'X-Forwarded-Port: 666',
        'X-Forwarded-Prefix: /evil',
        'X-Real-IP: 6.6.6.6',
        'Forwarded: for=6.6.6.6',
        '\r\n',
      ].join('\r\n'),
    );
    const [line, ...lines] = text.trimEnd().split('\r\n');
    expect(line).toBe('GET /a%2Fb/../c?x=%00&y HTTP/1.1');
    expect(lines.map(one => one.replace('::ffff:', ''))).toEqual([
      'Host: app.example:8080',
      'X-Twice: one',
      'x-twice: two',
      'Authorization: Bearer own',
      'X-Forwarded-For: 127.0.0.1',
      'X-Forwarded-Proto: http',
      'X-Forwarded-Host: app.example:8080',
      'Connection: keep-alive',
    ]);
  });

  it('keeps headers that framing rests on, whatever Connection names', async () => {
    const text = await sent(
      'POST / HTTP/1.1\r\nHost: a\r\nConnection: close, Content-Length, Host\r\nContent-Length: 5\r\n\r\nhello',
      /hello/,
    );
    expect(text).toMatch(/^Content-Length: 5\r$/m);
    expect(text).toMatch(/^Host: a\r$/m);
  });

  it('is changed by the rules', async () => {
    bench.rules = {
      scheme: 'https',
      host: 'localhost:3000',
      added: ['X-Viewer', 'ada'],
      requestHeader: (name, value) => (name === 'cookie' ? value.replace('ours=1; ', '') : value),
    };
    const text = await sent(
      'GET / HTTP/1.1\r\nHost: a\r\nCookie: ours=1; theirs=2\r\nx-viewer: forged\r\nConnection: close\r\n\r\n',
    );
    expect(text).toMatch(/^Host: localhost:3000\r$/m);
    expect(text).toMatch(/^Cookie: theirs=2\r$/m);
    expect(text.match(/x-viewer/gi)).toEqual(['X-Viewer']);
    expect(text).toMatch(/^X-Forwarded-Proto: https\r$/m);
    expect(text).toMatch(/^X-Forwarded-Host: a\r$/m);
  });

  it('has what a trusted proxy in front says of the client', async () => {
    bench.rules = { scheme: 'http', isPeerTrusted: true };
    const text = await sent(
      'GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Port: 8443\r\nConnection: close\r\n\r\n',
    );
    expect(text).toMatch(/^X-Forwarded-Port: 8443\r$/m);
    expect(text).toMatch(/^X-Forwarded-For: 192\.0\.2\.7, (::ffff:)?127\.0\.0\.1\r$/m);
    expect(text).toMatch(/^X-Forwarded-Proto: https\r$/m);
  });

  it('has its chunks framed anew, without their extensions', async () => {
    const text = await sent(
      'POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n5;ext="\r\nhello\r\n3\r\n yo\r\n0\r\n\r\n'.replace(
        ';ext="',
        ';ext=1',
      ),
      /0\r\n\r\n$/,
    );
    expect(bodyOf(text)).toMatch(/^5\r\nhello\r\n3\r\n yo\r\n0\r\n\r\n$|^8\r\nhello yo\r\n0\r\n\r\n$/);
    expect(text.match(/transfer-encoding/gi)).toHaveLength(1);
  });

  it('has its small chunks sent on together', async () => {
    const many = [...'0123456789'.repeat(100)].map(one => `1\r\n${one}\r\n`).join('');
    const text = await sent(
      `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${many}0\r\n\r\n`,
      /\r\n0\r\n\r\n$/,
    );
    const sizes = bodyOf(text).match(/^[0-9a-f]+(?=\r\n)/gm) ?? [];
    expect(sizes.length).toBeLessThan(100);
    expect(bodyOf(text).replaceAll(/(^|\r\n)[0-9a-f]+\r\n/g, '')).toMatch(/^(?:0123456789){100}(\r\n)?$/);
  });

  it('waits for the server to want its body (Expect: 100-continue)', async () => {
    bench.answerBy(socket => {
      let text = '';
      socket.on('data', bytes => {
        const had = text.includes('\r\n\r\n');
        text += bytes.toString();
        if (!had && text.includes('\r\n\r\n')) socket.write('HTTP/1.1 100 Continue\r\n\r\n');
        if (text.endsWith('body')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      });
    });
    const client = await bench.client();
    client.write(
      'PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\nConnection: close\r\n\r\n',
    );
    expect((await once(client, 'data')).toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    client.write('body');
    expect((await once(client, 'data')).toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  const head = 'POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n';
  it.each([
    ['both lengths and chunks', `${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['two lengths', `${head}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`],
    ['two equal lengths', `${head}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`],
    ['a list of lengths', `${head}Content-Length: 5, 5\r\n\r\nhello`],
    ['a length with a sign', `${head}Content-Length: +5\r\n\r\nhello`],
    ['a length in hexadecimal', `${head}Content-Length: 0x5\r\n\r\nhello`],
    ['another coding', `${head}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['chunked twice', `${head}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a disguised coding', `${head}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ['a coding with a vertical tab', `${head}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`],
    ['a space before the colon', `${head}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`],
    ['a folded line', `${head}X-A: b\r\n c\r\nContent-Length: 0\r\n\r\n`],
    ['a bare line feed in the head', `${head}X-A: b\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a bare carriage return in the head', `${head}X-A: b\rX-B: c\r\n\r\n`],
    ['a NUL in a value', `${head}X-A: b\x00c\r\n\r\n`],
    ['two hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n'],
    ['no host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['an absolute target', 'GET http://b/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
    ['* for another method', 'GET * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
    ['a chunk size with a sign', `${head}Transfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n`],
    ['a chunk longer than it says', `${head}Transfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n`],
    [
      'a chunk line that ends with a line feed',
      `${head}Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n`,
    ],
    [
      'a chunk size that overflows',
      `${head}Transfer-Encoding: chunked\r\n\r\n10000000000000005\r\nhello\r\n0\r\n\r\n`,
    ],
  ])('with %s never reaches the server as a whole request', async (_what, request) => {
    let seen = '';
    bench.answerBy(socket => {
      socket.on('data', bytes => {
        seen += bytes.toString('latin1');
        if (/0\r\n\r\n$|hello$/.test(seen)) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      });
    });
    const answer = await bench.exchange(request);
    expect(answer).not.toMatch(/^HTTP\/1\.1 200/);
    // At most the head and what was valid of the body, which no second request can follow.
    expect(seen).not.toMatch(/0\r\n\r\n$/);
    expect(seen.match(/HTTP\/1\.1/g)?.length ?? 0).toBeLessThanOrEqual(1);
  });

  it('behind another on the same connection is answered after it', async () => {
    bench.answerBy(socket => {
      socket.on('data', bytes => {
        const [, path] = /^GET (\S+)/.exec(bytes.toString()) ?? [];
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n${path}`);
      });
    });
    const text = await bench.exchange(
      'GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    );
    expect(text.match(/\r\n\r\n\/\d/g)).toEqual(['\r\n\r\n/1', '\r\n\r\n/2']);
  });
});

describe('an answer', () => {
  it('goes on with its status, reason and headers, without those about the connection', async () => {
    bench.answer(
      [
        'HTTP/1.1 207 Many Things',
        'X-One: 1',
        'x-one: 2',
        'Set-Cookie: a=1; Domain=example.com; Path=/',
        'Set-Cookie: b=2; domain=.example.com',
        'Connection: keep-alive, X-Named',
        'X-Named: gone',
        'Keep-Alive: timeout=5',
        'Alt-Svc: h3=":443"',
        'X-Accel-Redirect: /etc/passwd',
        'X-Sendfile: /etc/passwd',
        'X-LIGHTTPD-send-file: /etc/passwd',
        'Proxy-Authenticate: Basic',
        'Content-Length: 2',
        '',
        'ok',
      ].join('\r\n'),
    );
    const answer = await bench.get();
    expect(answer).toMatch(/^HTTP\/1\.1 207 Many Things\r\nX-One: 1\r\nx-one: 2\r\n/);
    expect(answer).toContain('Set-Cookie: a=1; Path=/\r\nSet-Cookie: b=2\r\n');
    expect(answer).not.toMatch(/x-named|alt-svc|x-accel|send-?file|proxy-auth|timeout=5$/im);
    expect(bodyOf(answer)).toBe('ok');
  });

  it('loses the headers that the rules refuse', async () => {
    bench.rules = {
      scheme: 'http',
      responseHeader: (name, value) =>
        name === 'set-cookie' && value.startsWith('ours=') ? undefined : value,
    };
    bench.answer('HTTP/1.1 200 OK\r\nSet-Cookie: ours=1\r\nSet-Cookie: own=1\r\nContent-Length: 0\r\n\r\n');
    expect((await bench.get()).match(/set-cookie: .*/gi)).toEqual(['Set-Cookie: own=1']);
  });

  it.each([
    [
      'in chunks',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n',
    ],
    ['until the connection ends', 'HTTP/1.1 200 OK\r\n\r\nhello world'],
    ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 11\r\n\r\nhello world'],
    ['with a length', 'HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world'],
    ['without a reason', 'HTTP/1.1 200\r\nContent-Length: 11\r\n\r\nhello world'],
  ])('%s is whole, at once and byte by byte', async (_how, text) => {
    let pieces = [text];
    bench.answerBy(socket => {
      socket.on('data', async () => {
        for (const piece of pieces) {
          socket.write(piece);
          await new Promise(setImmediate);
        }
        if (!/length|chunked/i.test(text)) socket.end();
      });
    });
    for (pieces of [[text], [...text]]) {
      const answer = await bench.get();
      expect(bodyOf(answer).replace(/^[0-9a-f]+\r\n|\r\n[0-9a-f]+\r\n(\r\n)?/g, '')).toBe('hello world');
      expect(faults()).toEqual([]);
    }
  });

  it('has its trailers passed on, but for those that mean something before the body', async () => {
    bench.answer(
      'HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\nSet-Cookie: a=1\r\nContent-Type: a/b\r\n\r\n',
    );
    expect(bodyOf(await bench.get())).toBe('2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n');
  });

  it('may have others before it', async () => {
    bench.answer(
      'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nX-Other: 1\r\n\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
    );
    expect(await bench.get()).toMatch(
      /^HTTP\/1\.1 102 Processing\r\n\r\nHTTP\/1\.1 103 Early Hints\r\nLink: <\/a\.css>; rel=preload\r\n\r\nHTTP\/1\.1 200 OK/,
    );
  });

  it('may have hints before it, of which the malformed are left out', async () => {
    bench.answer(
      'HTTP/1.1 103 Early Hints\r\nLink: oops\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload, </b>; as="style", no\r\nLink: oops\r\n\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
    );
    expect(await bench.get()).toMatch(
      /^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a>; rel=preload\r\n\r\nHTTP\/1\.1 200 OK/,
    );
  });

  it.each(['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n'])(
    'that has eight others before it, and never comes, is an error: %j',
    async text => {
      bench.answerBy(endlessly(text));
      const answer = await bench.get();
      expect(answer.match(/^HTTP\/1\.1 10[03] /gm)).toHaveLength(8);
      expect(answer).toMatch(/^HTTP\/1\.1 502 /m);
      expect(faults()).toEqual(['invalid']);
      if (!bench.connections[0]?.destroyed) await once(bench.connections[0] as never, 'close');
    },
  );

  it.each([
    ['others before it', Array.from({ length: 7 }, () => 'HTTP/1.1 100 Continue\r\n\r\n')],
    ['pieces of its head', ['HTTP/1.1 200 OK\r\nX-A: ', ...'bbbbbb']],
  ])('gets no more time by %s', async (_what, pieces) => {
    bench.rules = { scheme: 'http', answerMs: 300 };
    let sent = 0;
    bench.answerBy(socket => {
      const left = [...pieces];
      const next = () => {
        const piece = left.shift();
        if (piece === undefined || socket.destroyed) return;
        socket.write(piece);
        sent++;
        setTimeout(next, 200);
      };
      socket.once('data', next);
    });
    expect(await bench.get()).toMatch(/^HTTP\/1\.1 504 /m);
    expect(sent).toBeLessThan(pieces.length);
  });

  it('in chunks of one byte is held back by a client that does not read', async () => {
    let written = 0;
    bench.answerBy(socket => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
        const many = Buffer.from('1\r\nx\r\n'.repeat(20_000));
        const more = () => {
          while (written < 256 * 1024 * 1024 && !socket.destroyed) {
            written += many.length;
            if (!socket.write(many)) return;
          }
        };
        socket.on('drain', more);
        more();
      });
    });
    const client = await bench.client();
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(client, 'data');
    client.pause();
    let before = -1;
    while (before !== written) {
      before = written;
      await new Promise(resolve => setTimeout(resolve, 200));
    }
    expect(written).toBeLessThan(64 * 1024 * 1024);
    client.destroy();
  });

  it('in chunks of one byte goes on in few pieces', async () => {
    const digits = '0123456789'.repeat(10);
    const many = [...digits].map(one => `1\r\n${one}\r\n`).join('');
    bench.answer(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${many}0\r\n\r\n`);
    const body = bodyOf(await bench.get());
    const sizes = body.match(/^[0-9a-f]+(?=\r\n)/gm) ?? [];
    expect(sizes.length).toBeLessThan(10);
    expect(body.replaceAll(/(^|\r\n)[0-9a-f]+\r\n/g, '')).toMatch(new RegExp(`^${digits}(\r\n)?$`));
  });

  it('without end, in chunks of one byte, leaves others their turn', async () => {
    bench.answerBy(socket => {
      socket.on('data', head => {
        if (head.toString().startsWith('GET /other'))
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
        else {
          socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
          const many = Buffer.from('1\r\nx\r\n'.repeat(20_000));
          const more = () => {
            while (!socket.destroyed && socket.write(many));
          };
          socket.on('drain', more);
          more();
        }
      });
    });
    const client = await bench.client();
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(client, 'data');
    client.resume();
    for (let n = 0; n < 3; n++) expect(bodyOf(await bench.get('/other'))).toBe('ok');
    client.destroy();
  });

  it.each([
    ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n', /Content-Length: 5000/],
    ['GET', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5000\r\nETag: "a"\r\n\r\n', /ETag: "a"/],
    ['GET', 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n', /^HTTP\/1\.1 204/],
  ])('to %s that has no body: %j', async (method, text, expected) => {
    bench.answer(text);
    const answer = await bench.exchange(`${method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(expected);
    expect(bodyOf(answer)).toBe('');
    expect(faults()).toEqual([]);
  });

  it.each([
    ['with a length', 'Content-Length: 3000000'],
    ['in chunks', 'Transfer-Encoding: chunked'],
    ['until the connection ends', 'X-None: 1'],
  ])('that is large arrives as it was sent, %s', async (_how, framing) => {
    const body = randomBytes(3_000_000);
    const isChunked = framing.includes('chunked');
    bench.answerBy(socket => {
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\n${framing}\r\n\r\n`);
        for (let at = 0; at < body.length; at += 500_000) {
          if (isChunked) socket.write(`${(500_000).toString(16)}\r\n`);
          socket.write(body.subarray(at, at + 500_000));
          if (isChunked) socket.write('\r\n');
        }
        if (isChunked) socket.write('0\r\n\r\n');
        if (framing.startsWith('X-')) socket.end();
      });
    });
    const answer = await fetch(`http://127.0.0.1:${bench.port}/`);
    expect(Buffer.from(await answer.arrayBuffer()).equals(body)).toBe(true);
  });

  it('sends its head at once where its body takes long', async () => {
    bench.answerBy(socket => {
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n'));
    });
    const client = await bench.client();
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    expect((await once(client, 'data')).toString()).toMatch(/^HTTP\/1\.1 200 OK\r\nContent-Length: 4\r\n/);
    bench.connections[0]?.write('body');
    expect((await once(client, 'data')).toString()).toBe('body');
  });

  it('keeps the bytes of its headers, also where its body takes long', async () => {
    bench.answerBy(socket => {
      socket.once('data', () =>
        socket.write('HTTP/1.1 200 OK\r\nX-Name: Zo\xeb\r\nContent-Length: 4\r\n\r\n', 'latin1'),
      );
    });
    const client = await bench.client();
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    const [bytes] = await once(client, 'data');
    expect(bytes.toString('latin1')).toContain('X-Name: Zo\xeb\r\n');
  });

  it('before its request is sent whole is passed on, and its connection not used again', async () => {
    bench.answerBy(socket => {
      socket.once('data', () => socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno'));
    });
    const client = await bench.client();
    client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello');
    expect((await once(client, 'data')).toString()).toMatch(/^HTTP\/1\.1 413 [\s\S]*no$/);
    await closed(bench.connections[0]);
    // The rest of the first is dropped.
    client.write('worldGET / HTTP/1.1\r\nHost: a\r\n\r\n');
    bench.answer('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    expect((await once(client, 'data')).toString()).toMatch(/^HTTP\/1\.1 200 [\s\S]*ok$/);
    expect(bench.connections).toHaveLength(2);
  });

  it('is passed on piece by piece', async () => {
    bench.answerBy(socket => {
      socket.once('data', () =>
        socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n'),
      );
    });
    const client = await bench.client();
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    let text = '';
    client.on('data', bytes => {
      text += bytes.toString();
    });
    while (!text.includes('data: 1')) await once(client, 'data');
    bench.connections[0]?.write('data: 2\n\n');
    while (!text.includes('data: 2')) await once(client, 'data');
  });

  const ok = 'HTTP/1.1 200 OK\r\n';
  it.each([
    ['two lengths', `${ok}Content-Length: 2\r\nContent-Length: 3\r\n\r\nokk`],
    ['two equal lengths', `${ok}Content-Length: 2\r\nContent-Length: 2\r\n\r\nok`],
    ['a list of lengths', `${ok}Content-Length: 2, 2\r\n\r\nok`],
    ['a length with a sign', `${ok}Content-Length: -2\r\n\r\nok`],
    ['a length that is no number', `${ok}Content-Length: 2x\r\n\r\nok`],
    [
      'a length and chunks',
      `${ok}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
    ],
    ['another coding', `${ok}Transfer-Encoding: gzip\r\n\r\nok`],
    ['chunked and another', `${ok}Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n`],
    ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a folded header', `${ok}X-A: b\r\n c\r\n\r\n`],
    ['a bare line feed', `${ok}X-A: b\nX-B: c\r\n\r\n`],
    ['line feeds alone', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok\r\n\r\n'],
    ['a carriage return in a value', `${ok}X-A: b\rc\r\n\r\n`],
    ['a NUL in a value', `${ok}X-A: b\x00\r\n\r\n`],
    ['a space before the colon', `${ok}Content-Length : 2\r\n\r\nok`],
    ['a header without a name', `${ok}: b\r\n\r\n`],
    ['a line that is no header', `${ok}garbage\r\n\r\n`],
    ['no status line', 'hello\r\n\r\n'],
    ['another version', 'HTTP/2 200 OK\r\n\r\n'],
    ['version 2.0', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['version 0.9', 'HTTP/0.9 200 OK\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['a status that there is not', 'HTTP/1.1 099 No\r\n\r\n'],
    ['a status beyond 599', 'HTTP/1.1 600 No\r\n\r\n'],
    ['a control character in its reason', 'HTTP/1.1 200 O\x01K\r\n\r\n'],
    ['a length of sixteen digits', `${ok}Content-Length: 9999999999999999\r\n\r\nok`],
    ['chunked twice', `${ok}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a switch of protocols that names none', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
    [
      'a switch of protocols',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n',
    ],
    ['a head that is too large', `${ok}${'X-A: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\n'.repeat(2000)}\r\n`],
    ['a head without an end', `${ok}X-A: ${'b'.repeat(70_000)}`],
    ['too many headers', `${ok}${'a:\r\n'.repeat(300)}\r\n`],
  ])('with %s is refused, and its connection not used again', async (_what, text) => {
    bench.answer(text);
    expect(await bench.get()).toMatch(/^HTTP\/1\.1 502 /);
    expect(faults()).toEqual(['invalid']);
    await closed(bench.connections[0]);
  });

  const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`;
  it.each([
    ['no size', `${chunked}\r\nok\r\n0\r\n\r\n`],
    ['a size with a sign', `${chunked}+2\r\nok\r\n0\r\n\r\n`],
    ['a size with a prefix', `${chunked}0x2\r\nok\r\n0\r\n\r\n`],
    ['a size that is too large', `${chunked}ffffffffffffffff\r\nok\r\n0\r\n\r\n`],
    ['a size line that ends with a line feed', `${chunked}2\nok\r\n0\r\n\r\n`],
    ['more data than it says', `${chunked}2\r\nokk\r\n0\r\n\r\n`],
    ['less data than it says', `${chunked}5\r\nok\r\n0\r\n\r\n`],
    ['a size line without an end', `${chunked}2;${'a'.repeat(2000)}`],
    ['an invalid trailer', `${chunked}2\r\nok\r\n0\r\nX A: b\r\n\r\n`],
    ['a length in its trailers', `${chunked}2\r\nok\r\n0\r\nContent-Length: 2\r\n\r\n`],
    ['too many trailers', `${chunked}2\r\nok\r\n0\r\n${'a:\r\n'.repeat(300)}\r\n`],
    ['trailers without an end', `${chunked}2\r\nok\r\n0\r\n${'X-A: b\r\n'.repeat(4000)}`],
    ['the end of the connection', `${chunked}2\r\no`],
  ])('of chunks with %s does not end as if it were whole', async (_what, text) => {
    bench.answerBy(socket => {
      socket.once('data', () => socket.end(text, 'latin1'));
    });
    const answer = await bench.get();
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).not.toMatch(/0\r\n\r\n$/);
    expect(faults()).toHaveLength(1);
  });

  it('that is shorter than it says does not end as if it were whole', async () => {
    bench.answerBy(socket => {
      socket.once('data', () => socket.end(`${ok}Content-Length: 10\r\n\r\nhello`));
    });
    await bench.get();
    expect(faults()).toEqual(['closed']);
  });

  it.each([
    ['behind its end', `${ok}Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged`],
    ['to HEAD', `${ok}Content-Length: 6\r\n\r\nforged`, 'HEAD'],
    [
      'to what has no body',
      'HTTP/1.1 304 Not Modified\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged',
    ],
  ])('with more bytes %s is never taken for the next', async (_where, text, method = 'GET') => {
    bench.answer(text);
    const first = await bench.exchange(`${method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    expect(first).toMatch(/^HTTP\/1\.1 (?:200|304) /);
    expect(first).not.toContain('forged');
    expect(faults()).toEqual([]);
    bench.answer(`${ok}Content-Length: 4\r\n\r\nnext`);
    expect(bodyOf(await bench.get())).toBe('next');
    expect(bench.connections).toHaveLength(2);
  });

  it('that comes on an idle connection, before it is asked for, is not taken for the next', async () => {
    bench.answer(`${ok}Content-Length: 2\r\n\r\nok`);
    await bench.get();
    const [idle] = bench.connections;
    idle?.write(`${ok}Content-Length: 6\r\n\r\nforged`);
    await once(idle as never, 'close');
    expect(bodyOf(await bench.get())).toBe('ok');
    expect(bench.connections).toHaveLength(2);
  });
});

describe('connections', () => {
  const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

  it('are used again', async () => {
    bench.answer(answer);
    for (let n = 0; n < 5; n++) expect(bodyOf(await bench.get())).toBe('ok');
    expect(bench.connections).toHaveLength(1);
  });

  it('are used again after an answer of unknown length, and not after one that says so', async () => {
    for (const [head, count] of [
      ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n', 1],
      ['HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok', 2],
      ['HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok', 2],
    ] as const) {
      bench.upstream.endIdle();
      bench.answer(head);
      const before = bench.connections.length;
      await bench.get();
      await bench.get();
      expect(bench.connections.length - before).toBe(count);
    }
    await closed(bench.connections.at(-1));
  });

  it.each(['GET', 'HEAD'])('that broke while they were idle are replaced, and %s repeated', async method => {
    bench.answer(answer);
    await bench.get();
    // It takes the request and breaks: it may have been on its way to close.
    const [first] = bench.connections;
    first?.removeAllListeners('data').once('data', () => first.destroy());
    expect(await bench.exchange(`${method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)).toMatch(
      / 200 OK/,
    );
    expect(bench.connections).toHaveLength(2);
  });

  it('that broke are not replaced for what may change something', async () => {
    bench.answer(answer);
    await bench.get();
    const [first] = bench.connections;
    first?.removeAllListeners('data').once('data', () => first.destroy());
    expect(
      await bench.exchange('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'),
    ).toMatch(/ 502 /);
    expect(bench.connections).toHaveLength(1);
  });

  it('end at once when the client goes away', async () => {
    bench.answerBy(socket => {
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\nbegin'));
    });
    const client = await bench.client();
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(client, 'data');
    const closed = once(bench.connections[0] as never, 'close');
    client.destroy();
    await closed;
    expect(faults()).toEqual(['aborted']);
  });

  it('end when the rules say so', async () => {
    const stop = new AbortController();
    bench.rules = { scheme: 'http', signal: stop.signal };
    bench.answerBy(socket => {
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\nbegin'));
    });
    const client = await bench.client();
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(client, 'data');
    const closed = once(client, 'end');
    client.resume();
    stop.abort();
    await closed;
    expect(faults()).toEqual(['aborted']);
  });

  it('that are refused are an error of their own', async () => {
    await bench.stop();
    bench = await ProxyBench.start();
    Object.assign(bench, { backPort: 1 });
    expect(await bench.get()).toMatch(/^HTTP\/1\.1 502 /);
    expect(faults()).toEqual(['connect']);
  });

  it('on which nothing comes end', async () => {
    bench.rules = { scheme: 'http', answerMs: 50 };
    bench.answerBy(socket => socket.resume());
    expect(await bench.get()).toMatch(/^HTTP\/1\.1 504 /);
  });

  it('wait for the next turn of the event loop once they have brought much', async () => {
    const PIECE = 16 * 1024;
    const source = new PassThrough({ highWaterMark: 16 * TURN_BYTES });
    let read = 0;
    new Connection(source).on('data', bytes => {
      read += bytes.length;
    });
    for (let sent = 0; sent < 8 * TURN_BYTES; sent += PIECE) source.write(Buffer.alloc(PIECE));
    let most = 0;
    for (let before = 0; read < 8 * TURN_BYTES; before = read) {
      await new Promise(setImmediate);
      most = Math.max(most, read - before);
    }
    // The first comes with a turn that had begun.
    expect(most).toBeLessThanOrEqual(2 * TURN_BYTES);
  });

  it('of readers that are slow hold back the server', async () => {
    const SIZE = 64 * 1024 * 1024;
    let written = 0;
    bench.answerBy(socket => {
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${SIZE}\r\n\r\n`);
        const piece = Buffer.alloc(256 * 1024);
        const more = () => {
          while (written < SIZE) {
            written += piece.length;
            if (!socket.write(piece)) return socket.once('drain', more);
          }
          return undefined;
        };
        more();
      });
    });
    const client = await bench.client();
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    let [{ length: read }] = await once(client, 'data');
    client.pause();
    let before = -1;
    while (before !== written) {
      before = written;
      await new Promise(resolve => setTimeout(resolve, 200));
    }
    expect(written).toBeLessThan(SIZE / 2);
    client.on('data', bytes => {
      read += bytes.length;
    });
    client.resume();
    while (read < SIZE) await once(client, 'data');
  });

  it('of servers that read slowly hold back the client', async () => {
    const SIZE = 64 * 1024 * 1024;
    bench.answerBy(socket => socket.pause());
    const client = await bench.client();
    client.write(`PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: ${SIZE}\r\nConnection: close\r\n\r\n`);
    for (let sent = 0; sent < SIZE; sent += 1024 * 1024) client.write(Buffer.alloc(1024 * 1024));
    let before = -1;
    while (before !== client.writableLength) {
      before = client.writableLength;
      await new Promise(resolve => setTimeout(resolve, 200));
    }
    expect(client.writableLength).toBeGreaterThan(SIZE / 2);
    let read = 0;
    const [server] = bench.connections;
    server?.on('data', bytes => {
      read += bytes.length;
      if (read > SIZE) server.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
    server?.resume();
    expect((await once(client, 'data')).toString()).toMatch(/^HTTP\/1\.1 200/);
  });
});

describe('the status of a server', () => {
  const statusAt = async (serve: (socket: Socket) => void, signal = AbortSignal.timeout(100_000)) => {
    bench.answerBy(serve);
    return statusOf(await bench.connect(), { path: '/health?x=1', host: 'localhost:3000', signal });
  };

  it('is known once its head is there', async () => {
    const asked = Promise.withResolvers<string>();
    const status = await statusAt(socket => {
      socket.once('data', bytes => {
        asked.resolve(bytes.toString());
        socket.write('HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n');
      });
    });
    expect(status).toBe(204);
    expect(await asked.promise).toBe(
      'GET /health?x=1 HTTP/1.1\r\nHost: localhost:3000\r\nConnection: close\r\n\r\n',
    );
  });

  it('is not waited for without end', async () => {
    await expect(statusAt(endlessly('HTTP/1.1 100 Continue\r\n\r\n'))).rejects.toThrow('more than 8 answers');
    await expect(statusAt(socket => socket.end('HTTP/1.1 2'))).rejects.toThrow('ended before');
    await expect(statusAt(() => {}, AbortSignal.timeout(50))).rejects.toThrow('timeout');
  });
});

describe('a WebSocket', () => {
  const asked =
    'GET /chat HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n\r\n';
  const agreed =
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: y\r\n\r\n';
  const read = async (socket: NodeJS.ReadableStream, until: string) => {
    let text = '';
    for await (const [bytes] of on(socket, 'data')) {
      text += bytes.toString();
      if (text.includes(until)) return text;
    }
    return text;
  };

  it('joins both sides, with what came early, until one ends', async () => {
    bench.answerBy(socket => {
      socket.once('data', head => {
        expect(head.toString()).toMatch(/Connection: Upgrade\r\nUpgrade: websocket\r\n/);
        socket.write(`${agreed}early`);
        socket.on('data', bytes => socket.write(`got ${bytes}`)).once('end', () => socket.end('bye'));
      });
    });
    const client = await bench.client();
    client.write(`${asked}first`);
    expect(await read(client, 'got first')).toContain('Sec-WebSocket-Accept: y');
    client.write('second');
    await read(client, 'got second');
    client.end();
    await read(client, 'bye');
    expect(faults()).toEqual([]);
  });

  it('that the server refuses has its answer', async () => {
    bench.answer('HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n', '0\r\n\r\n');
    const answer = await bench.exchange(asked);
    expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\nConnection: close\r\n\r\nno$/);
  });

  it.each([
    ['says nothing', () => {}],
    [
      'sends no end of answers before the final one',
      (socket: Socket) => {
        const more = () => {
          while (!socket.destroyed && socket.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(2000)));
        };
        socket.on('drain', more);
        more();
      },
    ],
  ])('whose client leaves ends the connection to a server that %s', async (_what, answer) => {
    const arrived = Promise.withResolvers<void>();
    bench.answerBy(socket => {
      socket.once('data', () => {
        arrived.resolve();
        answer(socket);
      });
    });
    const client = await bench.client();
    client.write(`${asked}early`);
    await arrived.promise;
    client.end();
    await closed(bench.connections[0]);
    expect(faults()).toHaveLength(1);
  });

  it('whose client sends more than a little before the answer is ended', async () => {
    bench.answerBy(socket => socket.resume());
    const client = await bench.client();
    client.write(asked);
    client.write(Buffer.alloc(256 * 1024));
    await closed(client.resume());
    expect(faults()).toEqual(['aborted']);
  });

  it('ends when the rules say so, and when the server goes', async () => {
    for (const end of ['signal', 'server']) {
      const stop = new AbortController();
      bench.rules = { scheme: 'http', signal: stop.signal };
      bench.answer(agreed);
      const client = await bench.client();
      client.write(asked);
      await once(client, 'data');
      const closed = once(client, 'end');
      client.resume();
      if (end === 'signal') stop.abort();
      else bench.connections.at(-1)?.destroy();
      await closed;
    }
  });

  it.each([
    ['another protocol', asked.replace('websocket', 'h2c')],
    ['two protocols', asked.replace('websocket', 'websocket, h2c')],
    ['another method', asked.replace('GET', 'POST')],
    ['a body', asked.replace('Host: a', 'Host: a\r\nContent-Length: 5')],
    ['chunks', asked.replace('Host: a', 'Host: a\r\nTransfer-Encoding: chunked')],
  ])('is not asked for with %s', async (_what, request) => {
    bench.answer(agreed);
    expect(await bench.exchange(request, /\r\n\r\n/)).not.toMatch(/^HTTP\/1\.1 101/);
    expect(bench.connections).toHaveLength(0);
  });

  it('is no other protocol, whatever the server says', async () => {
    bench.answer(agreed.replace('websocket', 'h2c'));
    expect(await bench.exchange(asked)).toMatch(/^HTTP\/1\.1 502 /);
  });
});
