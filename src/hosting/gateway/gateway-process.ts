import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { closeUnreadConnections, refuseOnSocket } from '#libs/fastify-hardening/index.js';
import { Config } from '../../platform/config/index.js';
import { TrustedProxies } from '../../platform/http/index.js';
import { networkOf } from '../../platform/limits/index.js';
import { sendJson } from './answers.js';
import { Gateway } from './gateway.js';
import { GatewayFront } from './gateway-server.js';
import { HostedUpgrades } from './hosted-upgrades.js';
import { OpenCounts } from './request-limits.js';

const IDLE_MS = 60_000;
const MAX_SOCKETS_PER_ADDRESS = 256;

/** Serves sites and servers without the API (ROLE=gateway). Several such processes share a port. */
@Injectable()
export class GatewayProcess {
  private server: Server | undefined;

  constructor(
    private readonly config: Config,
    private readonly gateway: Gateway,
    private readonly upgrades: HostedUpgrades,
    private readonly proxies: TrustedProxies,
  ) {}

  async listen(): Promise<void> {
    const front = new GatewayFront();
    front.open(this.gateway, this.upgrades);
    const server = front.serverFor(answerOthers, { requireHostHeader: false });
    server.on('clientError', refuseOnSocket);
    closeUnreadConnections(server, IDLE_MS);
    this.limitSockets(server);
    const { port, host } = this.config;
    server.listen({ port, host, reusePort: this.config.gatewayProcesses > 1 || process.send !== undefined });
    await once(server, 'listening');
    this.server = server;
  }

  /** Requests under way get DRAIN_SECONDS. */
  async close(): Promise<void> {
    const { server } = this;
    if (!server) return;
    const closed = new Promise<void>(resolve => server.close(() => resolve()));
    server.closeIdleConnections();
    await Promise.race([closed, sleep(this.config.drainSeconds * 1000, undefined, { ref: false })]);
    server.closeAllConnections();
    await closed;
  }

  /** Trusted proxies are exempt. */
  private limitSockets(server: Server): void {
    const open = new OpenCounts();
    server.on('connection', (socket: Socket) => {
      const { remoteAddress } = socket;
      if (remoteAddress === undefined || this.proxies.has(remoteAddress)) return;
      const count = open.add(networkOf(remoteAddress));
      if (count.open > MAX_SOCKETS_PER_ADDRESS) socket.destroy();
      socket.once('close', () => {
        count.open--;
      });
    });
  }
}

/** Unknown hosts get only a health check. */
function answerOthers({ url }: IncomingMessage, response: ServerResponse): void {
  if (url === '/api/health') sendJson(response, 200, { status: 'ok' });
  else
    sendJson(response, 404, {
      detail: 'This process serves sites and servers, and none of them has this host',
    });
}
