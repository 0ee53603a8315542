import type { Duplex } from 'node:stream';
import { answerHeaders } from './answer-head.js';
import { type AnswerHead, AnswerParser } from './answer-parser.js';
import { AnswerReader } from './answer-reader.js';
import { membersOf, valuesOf } from './fields.js';
import { ProxyError } from './proxy-error.js';
import { ReadLimiter } from './read-limiter.js';
import { type ForwardRules, requestHead } from './request-head.js';
import type { UpgradeClient } from './upgrade-client.js';
import type { Connection } from './upstream.js';

const ANSWER_MS = 120_000;
const SILENCE_MS = 3_600_000;

/** One request for a WebSocket on a connection to the upstream, and what becomes of both connections. */
export class UpgradeExchange {
  private readonly ending = Promise.withResolvers<void>();
  private readonly parser: AnswerParser;
  private readonly reader: AnswerReader;
  private answer: AnswerHead | undefined;
  private isOver = false;

  constructor(
    private readonly client: UpgradeClient,
    private readonly connection: Connection,
    private readonly rules: ForwardRules,
    private readonly signal: AbortSignal,
  ) {
    this.parser = new AnswerParser('GET', {
      informational: () => {},
      head: head => this.begin(head),
      body: chunk => this.body(chunk),
      end: (_trailers, rest) => this.end(rest),
    });
    this.reader = new AnswerReader(this.parser, fault => this.fail(fault));
  }

  async run(): Promise<void> {
    const { client, connection, signal } = this;
    signal.addEventListener('abort', this.abort, { once: true });
    connection.use(this.reader);
    client.socket.on('drain', connection.reading.release);
    try {
      if (signal.aborted) this.abort();
      else this.start();
      await this.ending.promise;
    } finally {
      this.reader.stopWaiting();
      signal.removeEventListener('abort', this.abort);
      client.socket.off('drain', connection.reading.release);
      connection.socket.destroy();
    }
  }

  private start(): void {
    this.reader.expect(this.rules.answerMs ?? ANSWER_MS, 'The server does not answer');
    this.connection.socket.write(requestHead(this.client.request, this.rules, 'websocket'), 'latin1');
  }

  private begin(answer: AnswerHead): void {
    const isSwitch = answer.status === 101;
    if (isSwitch && membersOf(answer.headers, 'upgrade').join() !== 'websocket')
      throw new ProxyError('invalid', 'The server switched to another protocol');
    this.answer = answer;
    this.reader.expect(this.rules.silenceMs ?? SILENCE_MS, 'The connection was silent for too long');
    const { subprotocol } = this.rules;
    const headers = answerHeaders(answer, this.rules);
    let head = `HTTP/1.1 ${answer.status} ${answer.reason}\r\n`;
    for (let at = 0; at < headers.length; at += 2) head += `${headers[at]}: ${headers[at + 1]}\r\n`;
    if (isSwitch && subprotocol && valuesOf(headers, 'sec-websocket-protocol').length === 0)
      head += `Sec-WebSocket-Protocol: ${subprotocol}\r\n`;
    head += isSwitch ? 'Upgrade: websocket\r\nConnection: Upgrade' : 'Connection: close';
    this.client.socket.write(`${head}\r\n\r\n`, 'latin1');
  }

  private body(chunk: Buffer): void {
    if (!this.client.socket.write(chunk)) this.connection.reading.hold();
  }

  private end(rest: Buffer): void {
    if (this.answer?.status === 101) this.join(rest);
    else {
      this.isOver = true;
      this.client.end();
      this.ending.resolve();
    }
  }

  /** From here on the bytes are nobody's but theirs; each side may end before the other. */
  private join(rest: Buffer): void {
    const { connection } = this;
    const { socket: client } = this.client;
    const { socket: server, reading } = connection;
    const early = this.client.join();
    connection.handOver();
    // An error is followed by the close.
    server.on('error', () => {});
    if (rest.length > 0) client.write(rest);
    if (early.length > 0) server.write(early);
    this.copy(client, server, new ReadLimiter(client));
    this.copy(server, client, reading);
    server.once('close', this.finish);
  }

  /** No faster than the other side takes it. */
  private copy(from: Duplex, to: Duplex, reading: ReadLimiter): void {
    const { heard } = this.reader;
    from.on('data', (bytes: Buffer) => {
      heard();
      reading.count(bytes.length);
      if (!to.write(bytes)) reading.hold();
    });
    to.on('drain', reading.release);
    from.once('end', () => {
      to.end();
      if (to.readableEnded) this.finish();
    });
  }

  private readonly finish = (): void => {
    if (this.isOver) return;
    this.isOver = true;
    const { socket } = this.client;
    // What was written still goes out; a peer that does not close is not waited for.
    socket.end();
    socket.once('finish', () => socket.destroy());
    this.ending.resolve();
  };

  private readonly abort = (): void => {
    this.fail(new ProxyError('aborted', 'The exchange was ended'));
  };

  private fail(error: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    if (this.answer) this.client.socket.destroy();
    this.ending.reject(error);
  }
}
