import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import type { Gateway } from './gateway.js';

/** Stands before the API: requests for hosts of sites and servers go to the gateway, all others on. */
export class GatewayFront {
  /** Set once the application is made. */
  gateway: Gateway | undefined;

  serverFor(others: RequestListener, options: ServerOptions): Server {
    return createServer(options, (request, response) => {
      if (this.gateway) this.gateway.handle(request, response, () => others(request, response));
      else others(request, response);
    });
  }
}
