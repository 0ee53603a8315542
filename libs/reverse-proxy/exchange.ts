import { once } from 'node:events';
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { type AnswerHead, answerHeaders, answerTrailers } from './answer-head.js';
import { toProxyError } from './ask.js';
import { Connection } from './connection.js';
import { Deadline } from './deadline.js';
import { type RawHeaders, valuesOf } from './fields.js';
import { ProxyError } from './proxy-error.js';
import { type AnswerGate, type ForwardRules, requestBody, requestOptions } from './request-head.js';
import { sendBody } from './send-body.js';
import type { Upstream } from './upstream.js';

export const ANSWER_MS = 120_000;
export const SILENCE_MS = 3_600_000;
export const NO_ANSWER = 'The server does not answer';
/** What may wait for the client before the server is held back. */
const MAX_WAITING = 128 * 1024;
/** A link in the form that `ServerResponse.writeEarlyHints` takes. */
const HINT = /^<[^>]*>(?:\s*;\s*[^;"\s]+(?:=(")?[^;"\s]*\1)?)*$/;
const EMPTY = Buffer.alloc(0);

/** One request on one connection to the upstream, and its answer. */
export class Exchange {
  private readonly ending = Promise.withResolvers<void>();
  private readonly opening = new AbortController();
  private readonly deadline = new Deadline(error => this.fail(error));
  private readonly gate: AnswerGate | undefined;
  private sent: ClientRequest | undefined;
  private stopSending: (() => void) | undefined;
  private answer: IncomingMessage | undefined;
  /** What is not sent yet. */
  private heldHead: AnswerHead | undefined;
  /** The head is with Node, which sends it with what follows. */
  private isHeadWaiting = false;
  private isOver = false;
  private isBroken = false;

  constructor(
    private readonly request: IncomingMessage,
    private readonly response: ServerResponse,
    private readonly upstream: Upstream,
    private readonly rules: ForwardRules,
  ) {
    this.gate = rules.gate?.(chunk => this.send(chunk));
  }

  /** A connection that was used before broke before anything of an answer came. */
  get mayRepeat(): boolean {
    const { sent, isBroken } = this;
    const connection: unknown = sent?.socket;
    return isBroken && sent?.reusedSocket === true && connection instanceof Connection && !connection.isHeard;
  }

  run(): Promise<void> {
    const { request, response, rules } = this;
    rules.signal?.addEventListener('abort', this.ended, { once: true });
    response.once('close', this.gone);
    if (rules.signal?.aborted) this.ended();
    else if (response.destroyed || request.destroyed) this.gone();
    else this.start();
    return this.ending.promise;
  }

  private start(): void {
    const { request, rules } = this;
    const sent = this.upstream.ask(
      { ...requestOptions(request, rules), opening: this.opening.signal },
      {
        interim: (status, headers) => this.pass(status, headers),
        begun: (head, answer) => this.begin(head, answer),
        failed: error => {
          // Where it was complete, what follows does not matter.
          if (!this.answer?.complete) this.fail(error);
        },
      },
    );
    this.sent = sent;
    // Nothing is read of a body that cannot be sent.
    sent.once('socket', () => {
      if (this.isOver) return;
      this.deadline.set(rules.silenceMs ?? SILENCE_MS, NO_ANSWER);
      sent.once('finish', () => {
        if (!this.answer && !this.isOver) this.deadline.set(rules.answerMs ?? ANSWER_MS, NO_ANSWER);
      });
      if (requestBody(request) === 0) sent.end();
      else this.stopSending = sendBody(request, sent, bytes => this.count(bytes, 0));
    });
  }

  private readonly gone = (): void => this.fail(new ProxyError('aborted', 'The client has gone away'));

  private readonly ended = (): void => this.fail(new ProxyError('aborted', 'The exchange was ended'));

  /** An answer before the final one: RFC 9110, section 15.2; RFC 8297. */
  private pass(status: number, headers: RawHeaders): void {
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

  private begin(head: AnswerHead, answer: IncomingMessage): void {
    this.answer = answer;
    this.deadline.set(this.rules.silenceMs ?? SILENCE_MS, 'The answer stopped');
    this.heldHead = head;
    if (this.gate?.head(head) ?? true) this.writeHead();
    this.relay(answer).catch((error: unknown) => this.fail(toProxyError(error)));
  }

  /** Small chunks that came at once are read as one. */
  private async relay(answer: IncomingMessage): Promise<void> {
    const { gate, response } = this;
    // What came with the head is there after this.
    await undefined;
    // The rest may take long, and the client waits for the head.
    if (answer.readableLength === 0 && !answer.complete) this.sendHead();
    for await (const chunk of answer) {
      this.count(0, chunk.length);
      if (this.isOver) return;
      if (gate) gate.body(chunk);
      else this.send(chunk);
      if (response.writableLength >= MAX_WAITING) await once(response, 'drain');
    }
    this.end(answer.rawTrailers);
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

  private sendHead(): void {
    // Not `flushHeaders`, which encodes it in UTF-8.
    if (this.isHeadWaiting) this.send(EMPTY);
  }

  private send(chunk: Buffer): void {
    if (this.response.destroyed) return;
    this.writeHead();
    this.isHeadWaiting = false;
    this.response.write(chunk);
  }

  private count(out: number, back: number): void {
    this.deadline.renew();
    try {
      this.rules.onBytes?.(out, back);
    } catch (error) {
      this.fail(error);
    }
  }

  private end(trailers: RawHeaders): void {
    if (this.isOver) return;
    const sent = answerTrailers(trailers);
    this.gate?.end(trailers);
    this.writeHead();
    if (sent.length > 0) this.response.addTrailers(sent);
    this.response.end();
    this.settle();
    this.ending.resolve();
  }

  private fail(error: unknown): void {
    if (this.isOver) return;
    this.isBroken = error instanceof ProxyError && error.fault === 'closed';
    // Where an answer has begun, its reader sees that it broke off.
    this.sendHead();
    this.settle();
    this.opening.abort();
    this.ending.reject(error);
  }

  private settle(): void {
    this.isOver = true;
    this.deadline.clear();
    this.gate?.stop();
    this.rules.signal?.removeEventListener('abort', this.ended);
    this.response.off('close', this.gone);
    this.stopSending?.();
    // Does nothing where the request was sent whole and its answer read: the agent has the connection then.
    this.sent?.destroy();
  }
}
