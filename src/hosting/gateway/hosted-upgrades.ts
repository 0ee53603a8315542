import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { Log } from '../../platform/log/index.js';
import { AccessControl } from '../access/index.js';
import { HostTable, hostNameOf } from '../hosts/index.js';
import { HostedContents } from './hosted-contents.js';
import { hasSeveralHosts } from './request-target.js';

/** Sockets on hosts of sites and servers. They end once who opened them would not be let in any more. */
@Injectable()
export class HostedUpgrades {
  constructor(
    private readonly hosts: HostTable,
    private readonly contents: HostedContents,
    private readonly control: AccessControl,
    private readonly log: Log,
  ) {}

  async open(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy());
    try {
      const refusal = await this.tryToOpen(request, socket, head);
      if (refusal) socket.end(`HTTP/1.1 ${refusal}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    } catch (error) {
      this.log.error({ err: error }, 'a hosted socket could not be opened');
      socket.destroy();
    }
  }

  /** The status of a refusal; undefined where it is open. */
  private async tryToOpen(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): Promise<string | undefined> {
    if (hasSeveralHosts(request) || !request.url?.startsWith('/')) return '400 Bad Request';
    const host = await this.hosts.find(hostNameOf(request.headers.host ?? ''));
    const content = host && this.contents.of(host.target.kind);
    if (!host || !content?.upgrade) return '404 Not Found';
    const admission = await this.control.admit(host, request, { wantsViewer: true });
    if ('refused' in admission) return '401 Unauthorized';
    const stop = this.control.watch(host, request, admission.admitted, () => socket.destroy());
    socket.once('close', stop);
    await content.upgrade(host, admission.admitted, request, socket, head);
    return undefined;
  }
}
