import { Injectable } from '@nestjs/common';
import { SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import { Config } from '../../../platform/config/index.js';
import { type HostedHost } from '../hosts/host-table.js';
import type { Viewer } from './access-control.js';
import { AccessPolicies } from './access-policies.js';
import { VIEWER_ALGORITHM, ViewerKeys } from './viewer-keys.js';

const LIFE_SECONDS = 120;
/** How long a signed token is reused. */
const REUSE_MS = 60_000;
const MAX_KEPT = 5_000;

export interface SharedViewer {
  readonly id?: string;
  readonly name?: string;
  readonly email?: string;
  readonly role?: string | null;
}

/** Signed statements about the viewer, for one host and limited by its access settings. */
@Injectable()
export class ViewerTokens {
  private readonly kept = new LRUCache<string, string>({ max: MAX_KEPT, ttl: REUSE_MS });

  constructor(
    private readonly config: Config,
    private readonly keys: ViewerKeys,
    private readonly policies: AccessPolicies,
  ) {}

  async describe({ target }: HostedHost, { userId, name, email, role }: Viewer): Promise<SharedViewer> {
    const { identity } = await this.policies.find(target);
    if (identity === 'none') return {};
    return identity === 'id' ? { id: userId } : { id: userId, name, email, role };
  }

  /** Returns a JWT whose audience is the origin of the host. */
  async sign(host: HostedHost, viewer: Viewer): Promise<string> {
    const shared = await this.describe(host, viewer);
    const key = `${host.origin} ${viewer.userId} ${JSON.stringify(shared)}`;
    const kept = this.kept.get(key);
    if (kept) return kept;
    const { id: kid, key: signing } = await this.keys.signing();
    const { id, ...claims } = shared;
    const token = await new SignJWT({ ...claims })
      .setProtectedHeader({ alg: VIEWER_ALGORITHM, typ: 'viewer+jwt', kid })
      .setIssuer(this.config.baseUrl)
      .setAudience(host.origin)
      .setSubject(id ?? 'viewer')
      .setIssuedAt()
      .setExpirationTime(`${LIFE_SECONDS} s`)
      .sign(signing);
    this.kept.set(key, token);
    return token;
  }
}
