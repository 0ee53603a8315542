import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { Injectable, OnModuleInit } from '@nestjs/common';
import { ProxyError, proxyRequest, proxyUpgrade, type UpgradeClient } from '#libs/reverse-proxy/index.js';
import {
  AccessControl,
  type Admitted,
  type HostedContent,
  HostedContents,
  type HostedHost,
  refuseUpgrade,
  sendProblem,
} from '../../gateway/index.js';

import { Forwarding } from './forwarding.js';
import { type ReadyInstance, ServerInstances } from './server-instances.js';
import { toFault } from './server-pages.js';
import { ServerTraffic } from './server-traffic.js';

/** Longer requests are watched, and end when their sender would no longer be admitted. */
const LONG_MS = 1_000;

/** Maximum attempts per request. */
const MAX_ATTEMPTS = 3;

type SendTo = (ready: ReadyInstance, ended: AbortSignal) => Promise<void>;

/** Forwards each request to the running instance, and waits while one starts. */
@Injectable()
export class ServerContent implements HostedContent, OnModuleInit {
  readonly kind = 'server';

  constructor(
    private readonly contents: HostedContents,
    private readonly control: AccessControl,
    private readonly instances: ServerInstances,
    private readonly forwarding: Forwarding,
    private readonly traffic: ServerTraffic,
  ) {}

  onModuleInit(): void {
    this.contents.add(this);
  }

  async serve(
    host: HostedHost,
    admitted: Admitted,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    // Its end ends what is under way.
    const unwatch = this.watchIfLong(host, admitted, request, () => response.destroy());
    const leave = this.traffic.open(host.target.id);
    try {
      await this.attempt(host, response, request, async (ready, signal) => {
        const rules = { ...(await this.forwarding.rulesFor(host, admitted, request, ready)), signal };
        await proxyRequest(request, response, this.forwarding.upstreamOf(ready.instance), rules);
      });
    } catch (error) {
      const fault = toFault(error);
      if (response.headersSent || response.destroyed) response.destroy();
      else if (fault) sendProblem(request, response, fault.status, fault.page, fault.headers);
      else throw error;
    } finally {
      unwatch();
      leave();
    }
  }

  async upgrade(host: HostedHost, admitted: Admitted, client: UpgradeClient): Promise<void> {
    const { request, socket } = client;
    const leave = this.traffic.open(host.target.id);
    try {
      await this.attempt(host, socket, request, async (ready, signal) => {
        const rules = { ...(await this.forwarding.rulesFor(host, admitted, request, ready)), signal };
        await proxyUpgrade(client, this.forwarding.upstreamOf(ready.instance), rules);
      });
    } catch (error) {
      const fault = toFault(error);
      if (socket.destroyed) return;
      if (!fault) throw error;
      const { status, page, headers } = fault;
      const retry = headers['retry-after'];
      refuseUpgrade(client, {
        status,
        detail: page.detail,
        retryAfter: retry === undefined ? undefined : Number(retry),
      });
    } finally {
      leave();
    }
  }

  /** Retries with the next process if nothing was done. A request that a process received is repeated once. */
  private async attempt(
    { target }: HostedHost,
    client: ServerResponse | Duplex,
    request: IncomingMessage,
    send: SendTo,
  ): Promise<void> {
    const gone = endSignal(client);
    let isRepeated = false;
    for (let attempt = 1; ; attempt++) {
      const ready = await this.instances.ready(target.id, gone);
      try {
        await this.sendUntilEnd(ready, client, send);
        return;
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || !isUndone(error, request)) throw error;
        const wasSent = error.fault !== 'connect';
        if (wasSent && isRepeated) throw error;
        this.forwarding.suspect(ready.instance);
        const end = await this.instances.findEnd(ready, gone());
        // A program that ended by itself may have ended by this very request.
        if (end === undefined || (end === 'own' && wasSent)) throw error;
        isRepeated ||= wasSent;
      }
    }
  }

  /** Ends exchanges with an ended instance: a stalled worker leaves its connections open. */
  private async sendUntilEnd(
    ready: ReadyInstance,
    client: ServerResponse | Duplex,
    send: SendTo,
  ): Promise<void> {
    const ended = new AbortController();
    const unwatch = this.instances.watchEnd(ready, client, () => ended.abort());
    try {
      await send(ready, ended.signal);
    } catch (error) {
      throw ended.signal.aborted ? new ProxyError('closed', 'The server has ended', { cause: error }) : error;
    } finally {
      unwatch();
    }
  }

  private watchIfLong(
    host: HostedHost,
    admitted: Admitted,
    request: IncomingMessage,
    onEnd: () => void,
  ): () => void {
    let stop: (() => void) | undefined;
    const timer = setTimeout(() => {
      stop = this.control.watch(host, request, admitted, onEnd);
    }, LONG_MS).unref();
    return () => {
      clearTimeout(timer);
      stop?.();
    };
  }
}

/** Signal of the client's end, created on demand. */
function endSignal(client: ServerResponse | Duplex): () => AbortSignal {
  let signal: AbortSignal | undefined;
  return () => {
    signal ??= whenClosed(client);
    return signal;
  };
}

function whenClosed(client: ServerResponse | Duplex): AbortSignal {
  const gone = new AbortController();
  if (client.destroyed) gone.abort();
  else client.once('close', () => gone.abort());
  return gone.signal;
}

/** Whether a request had no effect: never sent, or unanswered and idempotent (RFC 9110, section 9.2.2). */
function isUndone(error: unknown, { method = '', headers, socket }: IncomingMessage): error is ProxyError {
  if (!(error instanceof ProxyError) || socket.destroyed) return false;
  if (error.fault === 'connect') return true;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  return error.fault === 'closed' && /^(?:GET|HEAD)$/.test(method) && !hasBody;
}
