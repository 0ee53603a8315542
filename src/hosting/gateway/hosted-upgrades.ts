import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { isOutage } from '#libs/resilient-postgres/index.js';
import { UpgradeClient } from '#libs/reverse-proxy/index.js';
import { TrustedProxies } from '../../platform/http/index.js';
import { Log } from '../../platform/log/index.js';
import { AccessControl } from './access/access-control.js';
import { refuseUpgrade, type UpgradeRefusal } from './answers.js';
import { HostedContents } from './hosted-contents.js';
import { HostTable } from './hosts/host-table.js';
import { normalizeHost } from './hosts/hosting-domain.js';
import { OwnCredentials, refusalOfKey } from './own-credentials.js';
import { BROKEN, BUSY, MALFORMED, NO_SUCH_PATH, NOT_FOUND, TOO_MANY_HEADERS, UNAVAILABLE } from './pages.js';
import { MAX_HEADERS, RequestLimits } from './request-limits.js';
import { hasSeveralHosts } from './request-target.js';
import { RESERVED } from './reserved-paths.js';

/** WebSockets on hosted hosts. They close when their opener would no longer be admitted. */
@Injectable()
export class HostedUpgrades {
  constructor(
    private readonly hosts: HostTable,
    private readonly contents: HostedContents,
    private readonly control: AccessControl,
    private readonly limits: RequestLimits,
    private readonly proxies: TrustedProxies,
    private readonly credentials: OwnCredentials,
    private readonly log: Log,
  ) {}

  async open(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const client = new UpgradeClient(request, socket, head);
    const address = this.proxies.clientOf(request);
    const name = normalizeHost(request.headers.host ?? '');
    const isRefused = this.limits.isRefusedTooOften(address);
    const end = isRefused ? undefined : this.limits.openSocket(address, name);
    if (!end) {
      refuseUpgrade(client, { status: 429, detail: BUSY.detail, retryAfter: 60 });
      return;
    }
    socket.once('close', end);
    try {
      const refusal = await this.tryToOpen(name, client);
      if (!refusal) return;
      this.limits.refused(address);
      refuseUpgrade(client, refusal);
    } catch (error) {
      this.fail(error, client);
    }
  }

  /** Returns the refusal, or undefined. */
  private async tryToOpen(name: string, client: UpgradeClient): Promise<UpgradeRefusal | undefined> {
    const { request, socket } = client;
    if (request.rawHeaders.length > 2 * MAX_HEADERS) return { status: 431, detail: TOO_MANY_HEADERS.detail };
    if (hasSeveralHosts(request) || !request.url?.startsWith('/'))
      return { status: 400, detail: MALFORMED.detail };
    const host = await this.hosts.find(name);
    if (!host) return { status: 404, detail: NOT_FOUND.detail };
    const content = this.contents.find(host.target.kind);
    if (!content?.upgrade || request.url.startsWith(RESERVED)) return { status: 404, ...NO_SUCH_PATH };
    if (this.credentials.areIn(request)) return { status: 401, detail: refusalOfKey(host.target) };
    const admission = await this.control.admit(host, request, { wantsViewer: true });
    if ('refused' in admission) return { status: 401, detail: 'This WebSocket is not open to you' };
    // Its client left while the host and the visit were looked up: nothing would end what begins here.
    if (socket.destroyed) return undefined;
    const stop = this.control.watch(host, request, admission.admitted, () => socket.destroy());
    socket.once('close', stop);
    await content.upgrade(host, admission.admitted, client);
    return undefined;
  }

  private fail(error: unknown, client: UpgradeClient): void {
    const isAway = isOutage(error);
    if (!isAway) this.log.error({ err: error }, 'a hosted socket could not be opened');
    if (isAway) refuseUpgrade(client, { status: 503, detail: UNAVAILABLE.detail, retryAfter: 2 });
    else refuseUpgrade(client, { status: 500, detail: BROKEN.detail });
  }
}
