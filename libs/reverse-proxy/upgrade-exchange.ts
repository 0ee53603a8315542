import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { answerHeaders } from './answer-head.js';
import { type AnswerHead, AnswerParser } from './answer-parser.js';
import { AnswerReader } from './answer-reader.js';
import { membersOf, valuesOf } from './fields.js';
import { ProxyError } from './proxy-error.js';
import { type ForwardRules, requestHead } from './request-head.js';

const ANSWER_MS = 120_000;
const SILENCE_MS = 3_600_000;

/** A request that Node's server has taken for an upgrade: its event `upgrade` has the parts in this order. */
export interface UpgradeRequest {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** What came behind the request. */
  readonly head: Buffer;
}

/** One request for a WebSocket on a connection to the upstream, and what becomes of both connections. */
export class UpgradeExchange {
  private readonly ending = Promise.withResolvers<void>();
  private readonly parser: AnswerParser;
  private readonly reader: AnswerReader;
  private answer: AnswerHead | undefined;
  private isOver = false;

  constructor(
    private readonly asked: UpgradeRequest,
    private readonly server: Duplex,
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
    const { asked, server, signal } = this;
    signal.addEventListener('abort', this.abort, { once: true });
    this.reader.start(server);
    asked.socket.on('drain', this.resume);
    try {
      if (signal.aborted) this.abort();
      else this.start();
      await this.ending.promise;
    } finally {
      this.reader.stopWaiting();
      signal.removeEventListener('abort', this.abort);
      asked.socket.off('drain', this.resume);
      server.destroy();
    }
  }

  private start(): void {
    this.reader.expect(this.rules.answerMs ?? ANSWER_MS, 'The server does not answer');
    this.server.write(requestHead(this.asked.request, this.rules, 'websocket'), 'latin1');
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
    this.asked.socket.write(`${head}\r\n\r\n`, 'latin1');
  }

  private body(chunk: Buffer): void {
    if (!this.asked.socket.write(chunk)) this.server.pause();
  }

  private end(rest: Buffer): void {
    if (this.answer?.status === 101) this.join(rest);
    else {
      this.isOver = true;
      this.asked.socket.end();
      this.ending.resolve();
    }
  }

  /** From here on the bytes are nobody's but theirs; each side may end before the other. */
  private join(rest: Buffer): void {
    const { asked, server } = this;
    this.reader.release(server);
    // An error is followed by the close.
    server.on('error', () => {});
    asked.socket.off('drain', this.resume);
    if (rest.length > 0) asked.socket.write(rest);
    if (asked.head.length > 0) server.write(asked.head);
    const { heard } = this.reader;
    const ended = () => {
      if (asked.socket.readableEnded && server.readableEnded) this.finish();
    };
    asked.socket.on('data', heard).once('end', ended).pipe(server);
    server.on('data', heard).once('end', ended).once('close', this.finish).pipe(asked.socket);
  }

  private readonly finish = (): void => {
    if (this.isOver) return;
    this.isOver = true;
    const { socket } = this.asked;
    // What was written still goes out; a peer that does not close is not waited for.
    socket.end();
    socket.once('finish', () => socket.destroy());
    this.ending.resolve();
  };

  private readonly resume = (): void => {
    this.server.resume();
  };

  private readonly abort = (): void => {
    this.fail(new ProxyError('aborted', 'The exchange was ended'));
  };

  private fail(error: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    if (this.answer) this.asked.socket.destroy();
    this.ending.reject(error);
  }
}
