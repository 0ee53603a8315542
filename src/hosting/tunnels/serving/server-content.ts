import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { Injectable, OnModuleInit } from '@nestjs/common';
import { ProxyError, proxyRequest, proxyUpgrade } from '#libs/reverse-proxy/index.js';
import { AccessControl, type Admitted } from '../../access/index.js';
import { type HostedContent, HostedContents, sendProblem } from '../../gateway/index.js';
import type { HostedHost } from '../../hosts/index.js';
import { Forwarding } from './forwarding.js';
import { type ReadyInstance, ServerInstances } from './server-instances.js';
import { faultOf, type ServerFault } from './server-pages.js';
import { ServerTraffic } from './server-traffic.js';

/** Requests that take longer are watched: they end once who sent them would not be let in any more. */
const LONG_MS = 1_000;
/** How often a request is sent to a process that turns out to be ending. */
const MAX_ATTEMPTS = 3;

/** Serves servers: each request goes to the process that answers now, and waits where there is to be one. */
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
    const over = new AbortController();
    const { signal } = over;
    const end = () => over.abort();
    const unwatch = this.watchIfLong(host, admitted, request, end);
    const leave = this.traffic.open(host.target.id);
    response.once('close', end);
    if (response.destroyed) end();
    try {
      await this.attempt(host, signal, request, async ready => {
        const rules = await this.forwarding.rulesFor(host, admitted, request, ready);
        const upstream = this.forwarding.upstreamOf(ready.instance);
        await proxyRequest(request, response, upstream, { ...rules, signal });
      });
    } catch (error) {
      const fault = faultOf(error);
      if (response.headersSent || response.destroyed || signal.aborted) response.destroy();
      else if (fault) sendProblem(request, response, fault.status, fault.page, fault.headers);
      else throw error;
    } finally {
      response.off('close', end);
      unwatch();
      leave();
    }
  }

  async upgrade(
    host: HostedHost,
    admitted: Admitted,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): Promise<void> {
    const gone = new AbortController();
    socket.once('close', () => gone.abort());
    if (socket.destroyed) gone.abort();
    const leave = this.traffic.open(host.target.id);
    try {
      await this.attempt(host, gone.signal, request, async ready => {
        const rules = await this.forwarding.rulesFor(host, admitted, request, ready);
        await proxyUpgrade({ request, socket, head }, this.forwarding.upstreamOf(ready.instance), rules);
      });
    } catch (error) {
      const fault = faultOf(error);
      if (socket.destroyed || gone.signal.aborted) return;
      if (!fault) throw error;
      refuse(socket, fault);
    } finally {
      leave();
    }
  }

  /** Again with the next process where the one before was about to end, and nothing was done. */
  private async attempt(
    { target }: HostedHost,
    signal: AbortSignal,
    request: IncomingMessage,
    send: (ready: ReadyInstance) => Promise<void>,
  ): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const ready = await this.instances.ready(target.id, signal);
      try {
        await send(ready);
        return;
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || !isUndone(error, request)) throw error;
        this.forwarding.suspect(ready.instance);
        if (!(await this.instances.ends(ready, signal))) throw error;
      }
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

/** Whether nothing came of a request: it was not sent, or may be sent twice (RFC 9110, section 9.2.2) and was not answered. */
function isUndone(error: unknown, { method = '', headers, socket }: IncomingMessage): boolean {
  if (!(error instanceof ProxyError) || socket.destroyed) return false;
  if (error.fault === 'connect') return true;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  return error.fault === 'closed' && /^(?:GET|HEAD)$/.test(method) && !hasBody;
}

function refuse(socket: Duplex, { status, page, headers }: ServerFault): void {
  const body = JSON.stringify({ detail: page.detail });
  const retry = headers['retry-after'];
  socket.end(
    `HTTP/1.1 ${status} ${page.title}\r\nConnection: close\r\nContent-Type: application/json\r\n${
      retry === undefined ? '' : `Retry-After: ${retry}\r\n`
    }Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
