import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
} from 'node:http';
import type { Gateway } from './gateway.js';
import type { HostedUpgrades } from './hosted-upgrades.js';

/** Stands before the API: requests for hosts of sites and servers go to the gateway, all others on. */
export class GatewayFront {
  private gateway: Gateway | undefined;
  private upgrades: HostedUpgrades | undefined;

  /** To be called once the application is made. */
  open(gateway: Gateway, upgrades: HostedUpgrades): void {
    this.gateway = gateway;
    this.upgrades = upgrades;
  }

  serverFor(others: RequestListener, options: ServerOptions): Server {
    const shouldUpgradeCallback = (request: IncomingMessage) => this.gateway?.takesUpgrade(request) === true;
    const server = createServer({ ...options, shouldUpgradeCallback }, (request, response) => {
      if (this.gateway) this.gateway.handle(request, response, () => others(request, response));
      else others(request, response);
    });
    server.on('upgrade', (request, socket, head) => void this.upgrades?.open(request, socket, head));
    return server;
  }
}
