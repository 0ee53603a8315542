import type { IncomingMessage, ServerResponse } from 'node:http';
import { type HostedHost } from './hosts/host-table.js';

/** A request for a host of a site or a server. */
export interface HostedRequest {
  readonly host: HostedHost;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** One below the reserved prefix of such a host. */
export interface ReservedRequest extends HostedRequest {
  readonly url: URL;
}
