import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { TrustedProxies } from '../../platform/http/index.js';

@Injectable()
export class Offload {
  private readonly isOn: boolean;

  constructor(
    { gatewayOffload }: Config,
    private readonly proxies: TrustedProxies,
  ) {
    this.isOn = gatewayOffload === 'nginx';
  }

  /** Whether the request came through the proxy: other clients would get a path instead of a file. */
  isFor({ socket }: Pick<IncomingMessage, 'socket'>): boolean {
    return this.isOn && this.proxies.has(socket.remoteAddress);
  }
}
