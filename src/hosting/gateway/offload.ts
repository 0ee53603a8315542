import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { TrustedProxies } from '../../platform/http/index.js';

/** Leaves the bytes of files to the proxy in front (GATEWAY_OFFLOAD): it reads them from the shared folder itself. */
@Injectable()
export class Offload {
  private readonly isOn: boolean;

  constructor(
    { gatewayOffload }: Config,
    private readonly proxies: TrustedProxies,
  ) {
    this.isOn = gatewayOffload === 'nginx';
  }

  /** Whether a request came through it. Whoever else asks would be shown a path, and no file. */
  isFor({ socket }: Pick<IncomingMessage, 'socket'>): boolean {
    return this.isOn && this.proxies.has(socket.remoteAddress);
  }
}
