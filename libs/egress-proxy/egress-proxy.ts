import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { AllowList } from './allow-list.js';
import { dial, permittedAddresses, type Resolver, systemResolver } from './dial.js';
import { answerOf, causeOf } from './failure.js';
import type { ExchangeForwarder } from './forwarded-exchange.js';
import { splitAuthority } from './host.js';
import type { CertificateAuthority } from './inspection/certificate-authority.js';
import { type CredentialRule, RuleSet } from './inspection/credential-rule.js';
import { type CredentialUse, Inspector } from './inspection/inspector.js';
import { verifiedConnection } from './inspection/verified-connection.js';
import { ByteMeter } from './meter.js';
import { EgressRefusal } from './refusal.js';
import { requireSameHost } from './request-head.js';

/** What was connected to, for a log; told when it is over. */
export interface EgressConnection {
  host: string;
  port: number;
  address: string | undefined;
  bytes_out: number;
  bytes_in: number;
  duration_ms: number;
}

/** Puts credentials into requests to hosts that have rules; connections to these hosts end at the proxy. */
export interface InspectionOptions {
  readonly rules: readonly CredentialRule[];
  /** Of this one sandbox, which trusts it. */
  readonly authority: CertificateAuthority;
  /** Which addresses may be connected to where a rule names the host; those of `allows` by default. */
  readonly allows?: (address: string, host: string, port: number) => boolean;
  /** Whom the proxy trusts, in PEM, besides Node's own defaults. */
  readonly trusted?: readonly string[];
  /** What to say of how a request gets permitted. */
  readonly advice?: string;
  readonly onUse?: (use: CredentialUse, rule: CredentialRule) => void;
}

export interface EgressProxyOptions {
  /** Hosts that may be reached, as `normalizeEntry` gives them. */
  hosts: readonly string[];
  /** 443 and 80 by default. */
  ports?: readonly number[];
  /** Which addresses of a host may be connected to. */
  allows: (address: string, host: string) => boolean;
  /** Sends on what is not a tunnel. */
  forwarder: ExchangeForwarder;
  resolve?: Resolver;
  /** Most connections to hosts at once; 64 by default. A few more clients are told that there are too many. */
  maxConnections?: number;
  /** Most bytes of all connections together, both ways; 4 GiB by default. */
  maxBytes?: number;
  connectTimeoutMs?: number;
  /** How long the head of a request is waited for, from the connection on; ten seconds by default. */
  requestTimeoutMs?: number;
  /** A connection on which nothing moves for so long is closed; two minutes by default. */
  idleTimeoutMs?: number;
  /** What to say of how a host gets onto the list. */
  advice?: string;
  /** What to say of how a host at an address that is not allowed gets reached. */
  addressAdvice?: string;
  onConnection?: (connection: EgressConnection) => void;
  onRefusal?: (refusal: EgressRefusal, target: string) => void;
  inspection?: InspectionOptions;
}

const GiB = 2 ** 30;
/** Clients beyond those that have a connection to a host: they wait, or are told why they get none. */
const MORE_CLIENTS = 16;
/** How long a client that was refused has to read why and to close. */
const PARTING_MS = 5_000;
const defaults = {
  ports: [443, 80] as readonly number[],
  resolve: systemResolver,
  maxConnections: 64,
  maxBytes: 4 * GiB,
  connectTimeoutMs: 10_000,
  requestTimeoutMs: 10_000,
  idleTimeoutMs: 120_000,
  advice: 'Ask an admin of the workspace to add it.',
  addressAdvice: '',
  onConnection: (_connection: EgressConnection): void => undefined,
  onRefusal: (_refusal: EgressRefusal, _target: string): void => undefined,
};

/**
 * An HTTP proxy (RFC 9110, section 9.3.6; RFC 9112, section 3.2.2) that connects to listed hosts alone. Names are
 * looked up here, once for a connection, and the address that was checked is the one connected to.
 */
export class EgressProxy {
  private readonly server: Server;
  private list: AllowList;
  private readonly meter: ByteMeter;
  private readonly options: typeof defaults & EgressProxyOptions;
  private readonly open = new Set<Duplex>();
  /** Connections to hosts, and which host each leads to. */
  private readonly leading = new Map<Socket, string>();
  /** Connections to hosts that are open, or are being opened. */
  private outgoing = 0;
  private readonly inspector: Inspector | undefined;
  private rules = new RuleSet();
  private readonly ends = new AbortController();

  constructor(options: EgressProxyOptions) {
    this.options = { ...defaults, ...options };
    this.list = new AllowList(options.hosts);
    this.meter = new ByteMeter(this.options.maxBytes);
    const { maxConnections, requestTimeoutMs } = this.options;
    this.server = createServer(
      {
        // An upload may take long; a connection on which nothing moves ends by itself.
        requestTimeout: 0,
        headersTimeout: requestTimeoutMs,
        connectionsCheckingInterval: requestTimeoutMs / 2,
      },
      (request, response) => void this.forward(request, response),
    );
    this.server.maxConnections = maxConnections + MORE_CLIENTS;
    // Others that came without waiting would wait in memory for the answer to the first.
    this.server.maxRequestsPerSocket = 1;
    this.server.on('checkContinue', (request, response) => void this.forward(request, response));
    this.server.on('connect', (request, socket, head) => void this.tunnel(request, socket, head));
    this.server.on('upgrade', (_request, socket) => {
      answer(socket, new EgressRefusal('request', 'An upgrade goes through CONNECT alone'));
    });
    this.server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return void socket.destroy();
      answer(socket, new EgressRefusal('request', 'This is no request that a proxy understands'));
    });
    this.server.on('connection', socket => this.keep(socket));
    this.inspector = options.inspection && this.inspectorFor(options.inspection);
    this.setRules(options.inspection?.rules ?? []);
  }

  /** @param path of a Unix socket */
  async listen(path: string): Promise<void> {
    this.server.listen(path);
    await once(this.server, 'listening');
  }

  /** From now on these hosts may be reached; connections to others end at once. */
  setHosts(hosts: readonly string[]): void {
    this.list = new AllowList(hosts);
    for (const [socket, host] of this.leading)
      if (!this.list.allows(host) && !this.rules.hasHost(host)) socket.destroy();
  }

  /**
   * From now on requests to these hosts get credentials, and nothing else goes there. Connections to hosts whose rules
   * have changed end at once. Without `inspection` there can be no rules.
   */
  setRules(list: readonly CredentialRule[]): void {
    const before = this.rules;
    const rules = new RuleSet(list);
    if (list.length > 0 && !this.inspector) throw new Error('This proxy inspects nothing');
    this.rules = rules;
    this.inspector?.setRules(rules);
    for (const [socket, host] of this.leading)
      if (before.stateOf(host) !== rules.stateOf(host)) socket.destroy();
  }

  /** Ends every connection. Harmless twice. */
  async close(): Promise<void> {
    this.inspector?.close();
    this.options.forwarder.forget();
    this.ends.abort();
    for (const socket of this.open) socket.destroy();
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private async tunnel(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    const target = request.url ?? '';
    client.on('error', () => client.destroy());
    try {
      const { host, port } = splitAuthority(target);
      requireSameHost(request, host);
      if (this.inspector && this.rules.hasHost(host)) {
        this.requireRule(host, port);
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        if (head.length > 0) client.unshift(head);
        this.inspector.accept(client as Socket, host, port);
        return;
      }
      const server = await this.connect(host, port);
      if (client.destroyed) return void server.destroy();
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      if (head.length > 0) server.write(head);
      this.meter.count(client, server);
      client.once('close', () => server.destroy());
      server.once('close', () => client.destroy());
      client.pipe(server).pipe(client);
    } catch (error) {
      answer(client, this.refused(error, target));
    }
  }

  private async forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = request.url ?? '';
    try {
      if (!/^http:\/\//i.test(target))
        throw new EgressRefusal(
          'request',
          'This is a proxy: it takes CONNECT, and http:// addresses in full',
        );
      const [, authority = '', path = ''] = /^http:\/\/([^/?#]*)([^#]*)/i.exec(target) ?? [];
      const { host, port } = splitAuthority(authority, 80);
      requireSameHost(request, host);
      if (this.rules.hasHost(host))
        throw new EgressRefusal('rule', `${host} is reached over https alone: write https:// in the address`);
      // RFC 9112, section 3.2.1: what goes on to the server is in origin form.
      request.url = path.startsWith('/') ? path : `/${path}`;
      await this.options.forwarder.exchange({
        request,
        response,
        host,
        port,
        authority,
        scheme: 'http',
        added: [],
        connect: () => this.connect(host, port),
        keeps: () => true,
        onBytes: (out, back) => this.meter.add(out + back),
        signal: this.ends.signal,
      });
    } catch (error) {
      this.answerFailure(causeOf(error), target, response);
    }
  }

  private answerFailure(error: unknown, target: string, response: ServerResponse): void {
    if (response.headersSent || response.destroyed) return void response.destroy();
    const isRefused = error instanceof EgressRefusal;
    if (isRefused) this.options.onRefusal(error, target);
    const [status, message] = isRefused ? [403, error.message] : answerOf(error);
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
    response.end(`${message}\n`);
  }

  /** A connection to a host that may be reached, which tells of itself when it is over. */
  private async connect(host: string, port: number): Promise<Socket> {
    const { ports, allows } = this.options;
    const requirePermitted = () => {
      this.requireListed(host);
      // A rule may have come while it was looked up: then nothing but requests with a credential goes there.
      if (this.rules.hasHost(host)) throw new EgressRefusal('rule', `${host} has just got a credential`);
    };
    requirePermitted();
    if (!ports.includes(port))
      throw new EgressRefusal(
        'port',
        `Port ${port} of ${host} may not be reached from here, only ${ports.join(' and ')}`,
      );
    return this.dial(host, port, allows, requirePermitted);
  }

  /** Throws EgressRefusal, also where it is not permitted any more once it is connected. */
  private async dial(
    host: string,
    port: number,
    allows: (address: string, host: string) => boolean,
    requirePermitted: () => void,
  ): Promise<Socket> {
    const { resolve, connectTimeoutMs, idleTimeoutMs, maxConnections, addressAdvice } = this.options;
    if (this.outgoing >= maxConnections)
      throw new EgressRefusal('too_much', `There are ${maxConnections} connections already: close some`);
    this.meter.requireRoom();
    const startedAt = performance.now();
    this.outgoing++;
    const socket = await permittedAddresses(host, resolve, allows, addressAdvice)
      .then(addresses => dial(host, addresses, port, connectTimeoutMs))
      .catch((error: unknown) => {
        this.outgoing--;
        throw error;
      });
    this.keep(socket);
    this.leading.set(socket, host);
    socket.setTimeout(idleTimeoutMs, () => socket.destroy());
    socket.once('close', () => {
      this.outgoing--;
      this.leading.delete(socket);
      const { bytesWritten: bytes_out, bytesRead: bytes_in } = socket;
      const duration_ms = Math.round(performance.now() - startedAt);
      this.options.onConnection({ host, port, address, bytes_out, bytes_in, duration_ms });
    });
    const address = socket.remoteAddress;
    try {
      // What is permitted may have changed while it was looked up and dialled.
      requirePermitted();
      return socket;
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }

  private inspectorFor(inspection: InspectionOptions): Inspector {
    const { authority, trusted, advice = '', onUse = () => undefined } = inspection;
    const allows = inspection.allows ?? this.options.allows;
    const { idleTimeoutMs, connectTimeoutMs, forwarder } = this.options;
    return new Inspector({
      authority,
      forwarder,
      advice,
      idleTimeoutMs,
      onUse,
      onBytes: bytes => this.meter.add(bytes),
      onRefusal: (refusal, target) => this.options.onRefusal(refusal, target),
      connect: async (host, port) => {
        const socket = await this.dial(
          host,
          port,
          address => allows(address, host, port),
          () => this.requireRule(host, port),
        );
        return verifiedConnection(socket, host, { trusted, timeoutMs: connectTimeoutMs });
      },
    });
  }

  private requireRule(host: string, port: number): void {
    if (this.rules.of(host, port).length > 0) return;
    throw new EgressRefusal('port', `Port ${port} of ${host} may not be reached from here`);
  }

  private requireListed(host: string): void {
    if (this.list.allows(host)) return;
    const listed = this.list.entries.slice(0, 20).join(', ') || 'none';
    throw new EgressRefusal(
      'not_listed',
      `${host} is not one of the hosts that may be reached from here (${listed}). ${this.options.advice}`,
    );
  }

  private keep(socket: Duplex): void {
    this.open.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.open.delete(socket));
  }

  private refused(error: unknown, target: string): EgressRefusal {
    const refusal =
      error instanceof EgressRefusal ? error : new EgressRefusal('request', 'The proxy has failed');
    this.options.onRefusal(refusal, target);
    return refusal;
  }
}

function answer(client: Duplex, { message }: EgressRefusal): void {
  if (!client.writable) return void client.destroy();
  const body = `${message}\n`;
  const head = ['HTTP/1.1 403 Forbidden', 'content-type: text/plain; charset=utf-8', 'connection: close'];
  client.end([...head, `content-length: ${Buffer.byteLength(body)}`, '', body].join('\r\n'));
  // Unread, its end would not be noticed.
  client.resume();
  const timer = setTimeout(() => client.destroy(), PARTING_MS).unref();
  client.once('close', () => clearTimeout(timer));
}
