import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { UpgradeClient } from '#libs/reverse-proxy/index.js';
import type { Actor } from '../../platform/access/index.js';
import { type Admitted } from './access/access-control.js';
import { type HostedHost } from './hosts/host-table.js';
import { type HostedKind } from './hosts/hosting-domain.js';

/** Actions that a site offers to its viewers. */
export interface OfferedActions {
  readonly names: readonly string[];
  readonly isPublic: boolean;
  /** Actor that set the list: actions run on their authority. */
  readonly by: Actor;
}

export interface HostedContent {
  readonly kind: HostedKind;
  /** Answers an admitted request. `request.url` is in origin form. */
  serve(
    host: HostedHost,
    admitted: Admitted,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void>;
  upgrade?(host: HostedHost, admitted: Admitted, client: UpgradeClient): Promise<void>;
  actions?(targetId: string): Promise<OfferedActions | undefined>;
}

/** Registry of hosted content by kind, filled while modules start. */
@Injectable()
export class HostedContents {
  private readonly contents = new Map<HostedKind, HostedContent>();

  add(content: HostedContent): void {
    if (this.contents.has(content.kind)) throw new Error(`Two features serve what is a ${content.kind}`);
    this.contents.set(content.kind, content);
  }

  find(kind: HostedKind): HostedContent | undefined {
    return this.contents.get(kind);
  }
}
