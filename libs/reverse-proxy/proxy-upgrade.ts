import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type AnswerHead, answerHeaders } from './answer-head.js';
import { toProxyError } from './ask.js';
import { Deadline } from './deadline.js';
import { ANSWER_MS, NO_ANSWER, SILENCE_MS } from './exchange.js';
import { membersOf, valuesOf } from './fields.js';
import { ProxyError } from './proxy-error.js';
import { type ForwardRules, requestBody, requestFault, requestOptions } from './request-head.js';
import type { UpgradeClient } from './upgrade-client.js';
import type { Upstream } from './upstream.js';

/**
 * Sends a request for a WebSocket (RFC 6455) on to `upstream`. Where that agrees, both connections are joined until one ends,
 * or `rules.signal` is aborted; any other answer goes to the client, whose connection ends then. Resolves when all is over.
 *
 * Rejects with ProxyError. Where nothing was written to the client's socket it is left open, and the caller answers; else it
 * is destroyed.
 */
export async function proxyUpgrade(
  client: UpgradeClient,
  upstream: Upstream,
  rules: ForwardRules,
): Promise<void> {
  const fault = requestFault(client.request) ?? upgradeFault(client.request);
  if (fault !== undefined) throw new ProxyError('request', fault);
  await new UpgradeExchange(client, upstream, rules).run();
}

function upgradeFault(request: IncomingMessage): string | undefined {
  if (request.method !== 'GET') return 'Only GET may ask for a WebSocket';
  if (membersOf(request.rawHeaders, 'upgrade').join() !== 'websocket')
    return 'Only an upgrade to websocket is forwarded';
  if (requestBody(request) !== 0) return 'A request for a WebSocket has no body';
  return undefined;
}

/** One request for a WebSocket on a connection to the upstream, and what becomes of both connections. */
class UpgradeExchange {
  private readonly ending = Promise.withResolvers<void>();
  private readonly opening = new AbortController();
  private readonly deadline = new Deadline(error => this.fail(error));
  private sent: ClientRequest | undefined;
  private refusal: IncomingMessage | undefined;
  private hasAnswer = false;
  private isOver = false;

  constructor(
    private readonly client: UpgradeClient,
    private readonly upstream: Upstream,
    private readonly rules: ForwardRules,
  ) {}

  async run(): Promise<void> {
    const { signal } = this.rules;
    const { socket } = this.client;
    signal?.addEventListener('abort', this.abort, { once: true });
    socket.once('close', this.abort);
    try {
      if (signal?.aborted || socket.destroyed) this.abort();
      else this.start();
      await this.ending.promise;
    } finally {
      signal?.removeEventListener('abort', this.abort);
      socket.off('close', this.abort);
      this.deadline.clear();
      this.opening.abort();
      this.sent?.destroy();
      this.sent?.socket?.destroy();
    }
  }

  private start(): void {
    this.sent = this.upstream.askApart(
      { ...requestOptions(this.client.request, this.rules, 'websocket'), opening: this.opening.signal },
      {
        begun: (head, answer) => this.refuse(head, answer),
        switched: (head, socket, rest) => this.join(head, socket, rest),
        failed: error => {
          if (!this.refusal?.complete) this.fail(error);
        },
      },
    );
    this.sent.once('socket', () => this.deadline.set(this.rules.answerMs ?? ANSWER_MS, NO_ANSWER));
    this.sent.end();
  }

  private refuse(head: AnswerHead, answer: IncomingMessage): void {
    this.refusal = answer;
    this.writeHead(head, ['Connection', 'close']);
    this.relay(answer).catch((error: unknown) => this.fail(toProxyError(error)));
  }

  private async relay(answer: IncomingMessage): Promise<void> {
    const { socket } = this.client;
    for await (const chunk of answer) {
      this.deadline.renew();
      if (!socket.write(chunk)) await once(socket, 'drain');
    }
    this.isOver = true;
    this.client.end();
    this.ending.resolve();
  }

  /** From here on the bytes are nobody's but theirs; each side may end before the other. */
  private join(head: AnswerHead, server: Duplex, rest: Buffer): void {
    if (membersOf(head.headers, 'upgrade').join() !== 'websocket')
      throw new ProxyError('invalid', 'The server switched to another protocol');
    const { client, deadline } = this;
    const { subprotocol } = this.rules;
    const isChosen = valuesOf(head.headers, 'sec-websocket-protocol').length > 0;
    this.writeHead(head, [
      ...(subprotocol && !isChosen ? ['Sec-WebSocket-Protocol', subprotocol] : []),
      ...['Upgrade', 'websocket', 'Connection', 'Upgrade'],
    ]);
    const early = client.join();
    if (rest.length > 0) client.socket.write(rest);
    if (early.length > 0) server.write(early);
    client.socket.on('data', deadline.renew).pipe(server);
    server.on('data', deadline.renew).pipe(client.socket);
    server.once('close', this.finish);
  }

  private writeHead(head: AnswerHead, own: readonly string[]): void {
    this.hasAnswer = true;
    this.deadline.set(this.rules.silenceMs ?? SILENCE_MS, 'The connection was silent for too long');
    const headers = [...answerHeaders(head, this.rules), ...own];
    let text = `HTTP/1.1 ${head.status} ${head.reason}\r\n`;
    for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`;
    this.client.socket.write(`${text}\r\n`, 'latin1');
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
    if (this.hasAnswer) this.client.socket.destroy();
    this.ending.reject(error);
  }
}
