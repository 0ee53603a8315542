import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerHeaders, answerTrailers } from './answer-head.js';
import { type AnswerHead, AnswerParser } from './answer-parser.js';
import { AnswerReader } from './answer-reader.js';
import { valuesOf } from './fields.js';
import { ProxyError } from './proxy-error.js';
import type { AnswerGate, ForwardRules } from './request-head.js';
import { RequestSender } from './request-sender.js';
import type { Connection, Upstream } from './upstream.js';

const ANSWER_MS = 120_000;
const SILENCE_MS = 3_600_000;
const NO_ANSWER = 'The server does not answer';
/** Answers that are no larger go out in one piece with their head. */
const MAX_SMALL = 8 * 1024;
/** What may wait for the client before the server is held back. */
const MAX_WAITING = 128 * 1024;
/** A link in the form that `ServerResponse.writeEarlyHints` takes. */
const HINT = /^<[^>]*>(?:\s*;\s*[^;"\s]+(?:=(")?[^;"\s]*\1)?)*$/;

/** One request on one connection to the upstream, and its answer. */
export class Exchange {
  private readonly ending = Promise.withResolvers<void>();
  private opening: AbortController | undefined;
  private connection: Connection | undefined;
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
  /** The head is with Node, which sends it with what follows. */
  private isHeadWaiting = false;
  private isHeadNew = false;
  private isHeldBack = false;

  constructor(
    private readonly request: IncomingMessage,
    private readonly response: ServerResponse,
    private readonly upstream: Upstream,
    private readonly rules: ForwardRules,
  ) {
    this.parser = new AnswerParser(request.method ?? 'GET', {
      informational: head => this.pass(head),
      head: head => this.begin(head),
      body: (chunk, isLast) => this.body(chunk, isLast),
      end: (trailers, rest) => this.end(trailers, rest),
    });
    this.reader = new AnswerReader(
      this.parser,
      fault => this.fail(fault),
      () => this.wasRead(),
    );
    this.gate = rules.gate?.(chunk => this.send(chunk));
  }

  /** Nothing of an answer came on a connection that was used before. */
  get mayRepeat(): boolean {
    return this.isReused && !this.parser.hasBegun && !this.isAborted;
  }

  /** `isNew`: on no connection that was used before. */
  run(isNew: boolean): Promise<void> {
    const { request, response, rules } = this;
    rules.signal?.addEventListener('abort', this.ended, { once: true });
    response.once('close', this.gone);
    if (rules.signal?.aborted) this.ended();
    else if (response.destroyed || request.destroyed) this.gone();
    else this.connect(isNew);
    return this.ending.promise;
  }

  private connect(isNew: boolean): void {
    const kept = isNew ? undefined : this.upstream.takeIdle();
    this.isReused = kept !== undefined;
    if (kept) this.start(kept);
    else void this.open();
  }

  private async open(): Promise<void> {
    this.opening = new AbortController();
    try {
      const connection = await this.upstream.open(this.opening.signal);
      // It may have ended while there was no connection yet.
      if (this.isOver) connection.socket.destroy();
      else this.start(connection);
    } catch (error) {
      this.fail(error);
    }
  }

  private start(connection: Connection): void {
    const { request, rules, reader } = this;
    this.connection = connection;
    connection.use(reader);
    const sent = () => {
      if (!this.hasAnswer) reader.expect(rules.answerMs ?? ANSWER_MS, NO_ANSWER);
    };
    const counted = (data: Buffer) => {
      reader.heard();
      this.count(data.length, 0);
    };
    const sender = new RequestSender(request, connection.socket, rules, sent, counted);
    this.sender = sender;
    try {
      sender.start();
      if (!sender.isDone) reader.expect(rules.silenceMs ?? SILENCE_MS, NO_ANSWER);
    } catch (error) {
      this.fail(error);
    }
  }

  private readonly gone = (): void => this.abort('The client has gone away');

  private readonly ended = (): void => this.abort('The exchange was ended');

  private readonly resume = (): void => {
    this.isHeldBack = false;
    this.connection?.reading.release();
  };

  /** An answer before the final one: RFC 9110, section 15.2; RFC 8297. */
  private pass({ status, headers }: AnswerHead): void {
    const { response } = this;
    if (response.headersSent || response.destroyed) return;
    // Hints are for browsers; nothing has read these.
    if (this.gate && status === 103) return;
    if (status === 100) response.writeContinue();
    else if (status === 102) response.writeProcessing();
    else if (status === 103) this.passHints(valuesOf(headers, 'link'));
  }

  /** Those of a form that Node writes; hints can be missed. */
  private passHints(values: readonly string[]): void {
    const links = values.flatMap(value => value.split(/,\s*(?=<)/)).filter(link => HINT.test(link));
    if (links.length > 0) this.response.writeEarlyHints({ link: links });
  }

  private begin(head: AnswerHead): void {
    if (head.status === 101)
      throw new ProxyError('invalid', 'The server switched to a protocol that nobody asked for');
    this.hasAnswer = true;
    this.keepAlive = head.keepAlive && head.body !== 'close';
    this.heldHead = head;
    this.isHeadNew = true;
    if (this.gate?.head(head) ?? true) this.writeHead();
  }

  private writeHead(): void {
    const { response, heldHead: head } = this;
    if (!head) return;
    this.heldHead = undefined;
    const headers = answerHeaders(head, this.rules);
    response.sendDate = valuesOf(headers, 'date').length === 0;
    response.writeHead(head.status, head.reason, headers);
    this.isHeadWaiting = true;
  }

  /** All that came at once was read: what follows may take long, and the client waits for the head. */
  private wasRead(): void {
    if (this.isOver || !this.isHeadNew) return;
    this.isHeadNew = false;
    this.reader.expect(this.rules.silenceMs ?? SILENCE_MS, 'The answer stopped');
    this.sendHead();
  }

  private sendHead(): void {
    if (!this.isHeadWaiting) return;
    this.isHeadWaiting = false;
    this.response.flushHeaders();
  }

  private body(chunk: Buffer, isLast: boolean): void {
    this.count(0, chunk.length);
    if (this.isOver) return;
    if (this.gate) this.gate.body(chunk);
    else if (isLast && this.isHeadWaiting && chunk.length <= MAX_SMALL) this.sendWhole(chunk);
    else this.send(chunk);
  }

  /** All of an answer: as text, which Node sends in one piece with the head. */
  private sendWhole(body: Buffer): void {
    this.isHeadWaiting = false;
    this.response.end(body.toString('latin1'), 'latin1');
  }

  private send(chunk: Buffer): void {
    const { response } = this;
    if (response.destroyed) return;
    this.writeHead();
    this.isHeadWaiting = false;
    // A gate may keep what it sends.
    const isTaken =
      this.gate || chunk.length < MAX_SMALL ? response.write(chunk) : writeOnce(response, chunk);
    if (isTaken || response.writableLength < MAX_WAITING || this.isHeldBack) return;
    this.isHeldBack = true;
    this.connection?.reading.hold();
    response.once('drain', this.resume);
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
    this.writeHead();
    const sent = answerTrailers(trailers);
    if (sent.length > 0) this.response.addTrailers(sent);
    this.response.end();
    // Where the request is not sent whole, or more came than was asked for, the next answer could be mistaken.
    if (this.keepAlive && rest.length === 0 && this.sender?.isDone) this.giveBack();
    else this.drop();
    this.ending.resolve();
  }

  private giveBack(): void {
    this.settle();
    if (this.connection) this.upstream.release(this.connection);
  }

  private abort(message: string): void {
    this.isAborted = true;
    this.fail(new ProxyError('aborted', message));
  }

  private fail(error: unknown): void {
    if (this.isOver) return;
    // Where an answer has begun, its reader sees that it broke off.
    this.sendHead();
    this.drop();
    this.ending.reject(error);
  }

  private drop(): void {
    this.settle();
    this.opening?.abort();
    this.connection?.socket.destroy();
  }

  private settle(): void {
    const { response } = this;
    this.isOver = true;
    this.reader.stopWaiting();
    this.gate?.stop();
    this.rules.signal?.removeEventListener('abort', this.ended);
    response.off('close', this.gone);
    if (this.isHeldBack) response.off('drain', this.resume);
    this.sender?.stop();
  }
}

/**
 * Writes bytes that are of no use afterwards: their memory is freed at once. Left to the garbage collector, 64 MiB of them make it
 * look through the whole heap.
 */
function writeOnce(response: ServerResponse, chunk: Buffer): boolean {
  const { buffer } = chunk;
  if (!(buffer instanceof ArrayBuffer) || buffer.byteLength !== chunk.length) return response.write(chunk);
  return response.write(chunk, error => {
    if (!error) buffer.transfer(0);
  });
}
