import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { answerOf, causeOf } from '../failure.js';
import type { ExchangeForwarder } from '../forwarded-exchange.js';
import { splitAuthority } from '../host.js';
import { EgressRefusal } from '../refusal.js';
import type { CertificateAuthority } from './certificate-authority.js';
import { type CredentialRule, fieldName, hostPort, RuleSet } from './credential-rule.js';
import { EchoGate, HeldBytes } from './echo-gate.js';
import { isOverridingHeader, overridingParameter } from './request-override.js';
import { pathOf, prefixOf } from './request-path.js';
import { SecretForms } from './secret-forms.js';

const HELD_BYTES = 8 * 1024 * 1024;
/** Requests of one connection that were not answered yet. */
const MAX_PIPELINED = 32;
const HEAD_MS = 60_000;
/** They would send the request back, or make another protocol of the connection. */
const REFUSED_METHODS = new Set(['TRACE', 'TRACK', 'CONNECT']);

/** They ask for an answer in pieces, compressed, or in another alphabet, in which a credential would not be found. */
const ANSWER_HEADERS = ['accept-encoding', 'accept-charset', 'range', 'if-range', 'a-im'];

/** A request that got a credential, for a log: nothing of its query, headers or body. */
export interface CredentialUse {
  readonly host: string;
  readonly port: number;
  readonly method: string;
  /** The prefix of the rule that its path lies below. */
  readonly path: string;
  /** Of the answer; null where there was none. */
  readonly status: number | null;
  readonly bytes_out: number;
  readonly bytes_in: number;
  readonly duration_ms: number;
}

export interface InspectorOptions {
  readonly authority: CertificateAuthority;
  readonly forwarder: ExchangeForwarder;
  /** Opens a verified connection; throws EgressRefusal. */
  readonly connect: (host: string, port: number) => Promise<Duplex>;
  /** What to say of how a request gets permitted. */
  readonly advice: string;
  readonly idleTimeoutMs: number;
  readonly onBytes: (bytes: number) => void;
  readonly onUse: (use: CredentialUse, rule: CredentialRule) => void;
  readonly onRefusal: (refusal: EgressRefusal, target: string) => void;
}

interface Tunnel {
  readonly host: string;
  readonly port: number;
  /** Of the rules that it began with. */
  readonly state: string;
  readonly socket: Duplex;
  readonly ends: AbortController;
  turn: Promise<void>;
  waiting: number;
}

/** Ends TLS connections of clients to hosts that have rules, and puts credentials into their requests. */
export class Inspector {
  private rules = new RuleSet();
  private readonly tunnels = new Map<Duplex, Tunnel>();
  private readonly held = new HeldBytes(HELD_BYTES);
  private readonly server: Server;

  constructor(private readonly options: InspectorOptions) {
    this.server = createServer(
      {
        insecureHTTPParser: false,
        // An upload may take long; a connection on which nothing moves ends by itself.
        requestTimeout: 0,
        headersTimeout: HEAD_MS,
        keepAliveTimeout: options.idleTimeoutMs,
      },
      (request, response) => this.take(request, response),
    );
    this.server.on('checkContinue', (request, response) => this.take(request, response));
    this.server.on('upgrade', (request, socket) => {
      const refusal = new EgressRefusal('method', 'An upgrade of the connection does not get a credential');
      this.options.onRefusal(refusal, this.nameOf(request.socket));
      refuseRaw(socket, 403, refusal.message);
    });
    this.server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      const isHttp = error.code?.startsWith('HPE_') || error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
      if (!isHttp) return void socket.destroy();
      const refusal = new EgressRefusal('request', 'This is no request that the proxy understands');
      this.options.onRefusal(refusal, this.nameOf(socket));
      refuseRaw(socket, 400, refusal.message);
    });
  }

  /** Rules that change end the connections to their host. */
  setRules(rules: RuleSet): void {
    this.rules = rules;
    for (const [socket, tunnel] of this.tunnels) {
      if (rules.stateOf(tunnel.host, tunnel.port) === tunnel.state) continue;
      tunnel.ends.abort();
      socket.destroy();
      this.options.forwarder.forget(hostPort(tunnel));
    }
  }

  /** Whether requests to a host, at any port, get a credential: it is reached through here alone. */
  has(host: string): boolean {
    return this.rules.hasHost(host);
  }

  /** @param client that was told that it is connected to the host */
  accept(client: Socket, host: string, port: number): void {
    const socket = new TLSSocket(client, {
      isServer: true,
      secureContext: this.options.authority.contextFor(host),
      ALPNProtocols: ['http/1.1'],
    });
    const ends = new AbortController();
    const state = this.rules.stateOf(host, port);
    this.tunnels.set(socket, { host, port, state, socket, ends, turn: Promise.resolve(), waiting: 0 });
    socket.once('close', () => {
      ends.abort();
      this.tunnels.delete(socket);
    });
    client.once('close', () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.setTimeout(this.options.idleTimeoutMs, () => socket.destroy());
    this.server.emit('connection', socket);
  }

  close(): void {
    for (const [socket, { ends }] of this.tunnels) {
      ends.abort();
      socket.destroy();
    }
    this.server.closeAllConnections();
    this.options.forwarder.forget();
  }

  /** Requests of one connection are answered one after the other. */
  private take(request: IncomingMessage, response: ServerResponse): void {
    const tunnel = this.tunnels.get(request.socket);
    if (!tunnel || tunnel.waiting >= MAX_PIPELINED) return void request.socket.destroy();
    tunnel.waiting++;
    tunnel.turn = tunnel.turn
      .then(() => this.answer(tunnel, request, response))
      .finally(() => tunnel.waiting--);
  }

  private async answer(tunnel: Tunnel, request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.exchange(tunnel, request, response);
    } catch (error) {
      if (response.headersSent || response.destroyed) return void response.destroy();
      const fault = causeOf(error);
      if (fault instanceof EgressRefusal) this.options.onRefusal(fault, this.nameOf(tunnel.socket));
      const [status, message] = answerOf(fault);
      const body = `${message}\n`;
      response.writeHead(status, {
        'content-type': 'text/plain; charset=utf-8',
        connection: 'close',
        'content-length': Buffer.byteLength(body),
      });
      response.end(body);
    }
  }

  private async exchange(tunnel: Tunnel, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { host, port, ends } = tunnel;
    const startedAt = performance.now();
    const admitted = this.admit(tunnel, request);
    const path = pathOf(request.url ?? '');
    const values = await Promise.all(admitted.map(({ rule }) => rule.value(ends.signal, path)));
    if (ends.signal.aborted) throw new EgressRefusal('credential', 'The credential was revoked');
    const forms = new SecretForms(values.flatMap(({ header, secrets }) => [header, ...secrets]));
    const own = new Set([...admitted.map(({ rule }) => fieldName(rule.header)), ...ANSWER_HEADERS]);
    let [bytes_out, bytes_in] = [0, 0];
    try {
      await this.options.forwarder.exchange({
        request,
        response,
        host,
        port,
        scheme: 'https',
        signal: ends.signal,
        connect: () => this.options.connect(host, port),
        added: [
          ...admitted.flatMap(({ rule }, at) => [rule.header, values[at]?.header ?? '']),
          'Accept-Encoding',
          'identity',
        ],
        keeps: name => !own.has(fieldName(name)),
        gate: send => new EchoGate(forms, this.held, send),
        onBytes: (out, back) => {
          bytes_out += out;
          bytes_in += back;
          this.options.onBytes(out + back);
        },
      });
    } finally {
      const status = response.headersSent ? response.statusCode : null;
      const duration_ms = Math.round(performance.now() - startedAt);
      const method = request.method ?? '';
      for (const { rule, prefix: path } of admitted)
        this.options.onUse({ host, port, method, path, status, bytes_out, bytes_in, duration_ms }, rule);
    }
  }

  /** The rules that a request keeps to; 403 where there is none. */
  private admit(
    { host, port }: Tunnel,
    { method = '', url = '', headers }: IncomingMessage,
  ): { rule: CredentialRule; prefix: string }[] {
    const named = splitAuthority(headers.host ?? '', 443);
    if (named.host !== host || named.port !== port)
      throw new EgressRefusal(
        'host',
        `The header Host names another host than the connection, which is to ${host}`,
      );
    if (REFUSED_METHODS.has(method)) throw new EgressRefusal('method', `${method} does not get a credential`);
    const path = pathOf(url);
    requireOneReading(method, url, headers);
    const rules = this.rules.of(host, port);
    const found = rules.flatMap(rule => {
      const prefix = rule.methods.includes(method) ? prefixOf(rule.paths, path) : undefined;
      return prefix === undefined ? [] : [{ rule, prefix }];
    });
    if (found.length === 0) {
      const permitted = rules.map(({ methods, paths }) => `${methods.join(', ')} below ${paths.join(', ')}`);
      throw new EgressRefusal(
        'rule',
        `${method} of this path of ${host} is not permitted from here, only ${permitted.join('; ')}. ${this.options.advice}`,
      );
    }
    return found;
  }

  private nameOf(socket: Duplex): string {
    const tunnel = this.tunnels.get(socket);
    return tunnel ? hostPort(tunnel) : '';
  }
}

/** Refuses requests that name another method, path or host besides their own. */
function requireOneReading(method: string, url: string, headers: IncomingHttpHeaders): void {
  const header = Object.keys(headers).find(isOverridingHeader);
  if (header)
    throw new EgressRefusal(
      'request',
      `The header ${header} names another request: send that request itself, without the header`,
    );
  const parameter = overridingParameter(url.split('?').slice(1).join('&'), method);
  if (parameter)
    throw new EgressRefusal(
      'method',
      `The parameter ${JSON.stringify(parameter)} names another method than ${method}: send a request of that method`,
    );
}

function refuseRaw(socket: Duplex, status: number, message: string): void {
  if (!socket.writable) return void socket.destroy();
  const body = `${message}\n`;
  const head = [`HTTP/1.1 ${status} Refused`, 'content-type: text/plain; charset=utf-8', 'connection: close'];
  socket.end([...head, `content-length: ${Buffer.byteLength(body)}`, '', body].join('\r\n'));
}
