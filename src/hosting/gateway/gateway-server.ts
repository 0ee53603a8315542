import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
} from 'node:http';
import type { Gateway } from './gateway.js';
import type { HostedUpgrades } from './hosted-upgrades.js';

const HEADERS_TIMEOUT_MS = 15_000;
const MAX_HEADER_BYTES = 32 * 1024;
/** Longer than that of proxies in front, which would otherwise send a request as the connection closes. */
const KEEP_ALIVE_MS = 75_000;

/** Routes requests for hosted hosts to the gateway, and all others to the API. */
export class GatewayFront {
  private gateway: Gateway | undefined;
  private upgrades: HostedUpgrades | undefined;

  open(gateway: Gateway, upgrades: HostedUpgrades): void {
    this.gateway = gateway;
    this.upgrades = upgrades;
  }

  serverFor(others: RequestListener, options: ServerOptions): Server {
    const shouldUpgradeCallback = (request: IncomingMessage) => this.gateway?.takesUpgrade(request) === true;
    const limits = { maxHeaderSize: MAX_HEADER_BYTES };
    const server = createServer({ ...limits, ...options, shouldUpgradeCallback }, (request, response) => {
      if (this.gateway) this.gateway.handle(request, response, () => others(request, response));
      else others(request, response);
    });
    server.on('upgrade', (request, socket, head) => void this.upgrades?.open(request, socket, head));
    server.keepAliveTimeout = KEEP_ALIVE_MS;
    server.headersTimeout = HEADERS_TIMEOUT_MS;
    // Uploads may take long; those that stall are ended otherwise.
    server.requestTimeout = 0;
    return server;
  }
}
