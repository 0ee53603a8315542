import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { Injectable } from '@nestjs/common';
import { Ingress } from '../../platform/ingress/index.js';
import { Log } from '../../platform/log/index.js';
import { HostingDomain, HostTable } from '../hosts/index.js';
import { HostedContents } from './hosted-contents.js';

/** Whether a host is one of ours; `maybe`: a custom one, which is to be looked up. */
type Belongs = 'yes' | 'maybe' | 'no';

/** Answers requests for hosts of sites and servers, which never enter the API. */
@Injectable()
export class Gateway {
  constructor(
    private readonly domain: HostingDomain,
    private readonly ingress: Ingress,
    private readonly hosts: HostTable,
    private readonly contents: HostedContents,
    private readonly log: Log,
  ) {}

  /** Answers a request for a host of ours, and leaves any other to `others`. */
  handle(request: IncomingMessage, response: ServerResponse, others: () => void): void {
    const host = hostOf(request);
    const belongs = host === undefined ? 'no' : this.belongs(host);
    if (host === undefined || belongs === 'no') others();
    else this.begin(host, belongs, request, response, others);
  }

  private begin(
    host: string,
    belongs: Belongs,
    request: IncomingMessage,
    response: ServerResponse,
    others: () => void,
  ): void {
    this.serve(host, belongs, request, response, others).catch((error: unknown) => {
      this.log.error({ err: error, host }, 'a hosted request failed');
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end();
    });
  }

  private async serve(
    name: string,
    belongs: Belongs,
    request: IncomingMessage,
    response: ServerResponse,
    others: () => void,
  ): Promise<void> {
    const host = await this.hosts.find(name);
    if (!host && belongs === 'maybe') {
      others();
      return;
    }
    const content = host && this.contents.of(host.target.kind);
    if (!content) {
      response.writeHead(404).end();
      return;
    }
    await content.serve(host, { isPublic: true }, request, response);
  }

  private belongs(host: string): Belongs {
    if (this.ingress.has(host)) return 'no';
    if (this.domain.holds(host)) return 'yes';
    return host.includes('.') && isIP(host) === 0 && !host.startsWith('[') ? 'maybe' : 'no';
  }
}

/** The host of a request in lower case, without port and final dot. */
function hostOf({ headers }: IncomingMessage): string | undefined {
  return headers.host?.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase();
}
