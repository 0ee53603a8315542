import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { answerHeaders, answerTrailers } from './answer-head.js';
import { type AnswerHead, AnswerParser } from './answer-parser.js';
import { AnswerReader } from './answer-reader.js';
import { valuesOf } from './fields.js';
import { ProxyError } from './proxy-error.js';
import type { AnswerGate, ForwardRules } from './request-head.js';
import { RequestSender } from './request-sender.js';
import type { Upstream } from './upstream.js';

const ANSWER_MS = 120_000;
const SILENCE_MS = 3_600_000;
const NO_ANSWER = 'The server does not answer';

/** One request on one connection to the upstream, and its answer. */
export class Exchange {
  private readonly ending = Promise.withResolvers<void>();
  private readonly stop = new AbortController();
  private socket: Duplex | undefined;
  private sender: RequestSender | undefined;
  private isReused = false;
  private isOver = false;
  private isAborted = false;
  private hasAnswer = false;
  private keepAlive = false;
  private readonly parser: AnswerParser;
  private readonly reader: AnswerReader;
  private readonly gate: AnswerGate | undefined;
  /** What is not sent yet. */
  private heldHead: AnswerHead | undefined;

  constructor(
    private readonly request: IncomingMessage,
    private readonly response: ServerResponse,
    private readonly upstream: Upstream,
    private readonly rules: ForwardRules,
  ) {
    this.parser = new AnswerParser(request.method ?? 'GET', {
      informational: head => this.pass(head),
      head: head => this.begin(head),
      body: chunk => this.body(chunk),
      end: (trailers, rest) => this.end(trailers, rest),
    });
    this.reader = new AnswerReader(this.parser, fault => this.fail(fault));
    this.gate = rules.gate?.(chunk => this.send(chunk));
  }

  /** Nothing of an answer came on a connection that was used before. */
  get mayRepeat(): boolean {
    return this.isReused && !this.parser.hasBegun && !this.isAborted;
  }

  async run(isNew: boolean): Promise<void> {
    const { request, response, rules } = this;
    const gone = () => this.abort('The client has gone away');
    const ended = () => this.abort('The exchange was ended');
    rules.signal?.addEventListener('abort', ended, { once: true });
    response.once('close', gone);
    // It may end while there is no connection yet, when nothing waits for it.
    this.ending.promise.catch(() => undefined);
    try {
      if (rules.signal?.aborted) ended();
      if (response.destroyed || request.destroyed) gone();
      if (!this.isOver) await this.start(isNew);
      await this.ending.promise;
    } finally {
      this.reader.stopWaiting();
      this.gate?.stop();
      rules.signal?.removeEventListener('abort', ended);
      response.off('close', gone);
      response.off('drain', this.resume);
      this.sender?.stop();
    }
  }

  private async start(isNew: boolean): Promise<void> {
    const { socket, isReused } = await this.upstream.acquire(this.stop.signal, isNew);
    this.isReused = isReused;
    this.socket = socket;
    if (this.isOver) {
      socket.destroy();
      return;
    }
    this.reader.start(socket);
    this.response.on('drain', this.resume);
    this.reader.expect(this.rules.silenceMs ?? SILENCE_MS, NO_ANSWER);
    const sent = () => {
      if (!this.hasAnswer) this.reader.expect(this.rules.answerMs ?? ANSWER_MS, NO_ANSWER);
    };
    const counted = (data: Buffer) => this.count(data.length, 0);
    this.sender = new RequestSender(this.request, socket, this.rules, sent, counted);
    this.sender.start();
  }

  private readonly resume = (): void => {
    this.socket?.resume();
  };

  /** An answer before the final one: RFC 9110, section 15.2; RFC 8297. */
  private pass({ status, headers }: AnswerHead): void {
    const { response } = this;
    if (response.headersSent || response.destroyed) return;
    // Hints are for browsers; nothing has read these.
    if (this.gate && status === 103) return;
    const links = valuesOf(headers, 'link');
    if (status === 100) response.writeContinue();
    else if (status === 102) response.writeProcessing();
    else if (status === 103 && links.length > 0) response.writeEarlyHints({ link: links });
  }

  private begin(head: AnswerHead): void {
    if (head.status === 101)
      throw new ProxyError('invalid', 'The server switched to a protocol that nobody asked for');
    this.hasAnswer = true;
    this.keepAlive = head.keepAlive && head.body !== 'close';
    this.reader.expect(this.rules.silenceMs ?? SILENCE_MS, 'The answer stopped');
    this.heldHead = head;
    if (this.gate?.head(head) ?? true) this.sendHead();
  }

  private sendHead(): void {
    const { response, heldHead: head } = this;
    if (!head) return;
    this.heldHead = undefined;
    const headers = answerHeaders(head, this.rules);
    response.sendDate = valuesOf(headers, 'date').length === 0;
    response.writeHead(head.status, head.reason, headers);
    // What follows may take long, and its reader waits for the head.
    if (head.body !== 0) response.flushHeaders();
  }

  private body(chunk: Buffer): void {
    this.count(0, chunk.length);
    if (this.isOver) return;
    if (this.gate) this.gate.body(chunk);
    else this.send(chunk);
  }

  private send(chunk: Buffer): void {
    if (this.response.destroyed) return;
    this.sendHead();
    if (!this.response.write(chunk)) this.socket?.pause();
  }

  private count(out: number, back: number): void {
    try {
      this.rules.onBytes?.(out, back);
    } catch (error) {
      this.fail(error);
    }
  }

  private end(trailers: readonly string[], rest: Buffer): void {
    if (this.isOver) return;
    this.gate?.end(trailers);
    this.sendHead();
    const sent = answerTrailers(trailers);
    if (sent.length > 0) this.response.addTrailers(sent);
    this.response.end();
    // Where the request is not sent whole, or more came than was asked for, the next answer could be mistaken.
    if (this.keepAlive && rest.length === 0 && this.sender?.isDone) this.giveBack();
    else this.drop();
    this.ending.resolve();
  }

  private giveBack(): void {
    this.isOver = true;
    const { socket } = this;
    if (!socket) return;
    this.reader.release(socket);
    this.upstream.release(socket);
  }

  private abort(message: string): void {
    this.isAborted = true;
    this.fail(new ProxyError('aborted', message));
  }

  private fail(error: unknown): void {
    if (this.isOver) return;
    this.drop();
    this.ending.reject(error);
  }

  private drop(): void {
    this.isOver = true;
    this.stop.abort();
    this.socket?.destroy();
  }
}
