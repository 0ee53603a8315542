import { Injectable } from '@nestjs/common';
import {
  accessTopic,
  credentialTopic,
  hashSecret,
  randomSecret,
  workspaceAccessTopic,
} from '../../../platform/access/index.js';
import { Chore } from '../../../platform/jobs/index.js';
import { TopicCache, Topics } from '../../../platform/topics/index.js';
import { type HostedHost } from '../hosts/host-table.js';
import { type HostedTarget } from '../hosts/hosted-targets.js';
import { HostingDomain } from '../hosts/hosting-domain.js';
import { hostedAccessTopic } from './access-policies.js';
import { HostedCookies } from './cookies.js';
import type { Asked } from './fetch-site.js';
import { type VisitKind, type VisitRow, VisitsStore } from './visits.store.js';

const isNonce = (value: string): boolean => /^[\w-]{43}$/.test(value);

const MAX_VISITS = 10_000;
/**
 * Bounds how late unpublished changes count, such as a new e-mail address, and how long visits last while the database is away.
 */
const TTL_MS = 30_000;
const HOUR_MS = 3_600_000;

/** Visits of browsers that were let in. A visitor's rights are cached until they may have changed. */
@Injectable()
export class Visits {
  readonly cookies: HostedCookies;
  private readonly visits: TopicCache<VisitRow | null>;

  constructor(
    private readonly store: VisitsStore,
    private readonly topics: Topics,
    { isSecure }: HostingDomain,
  ) {
    this.cookies = new HostedCookies(isSecure);
    const kinds = [accessTopic, credentialTopic, workspaceAccessTopic, hostedAccessTopic];
    this.visits = new TopicCache(topics, kinds, { max: MAX_VISITS, ttlMs: TTL_MS });
  }

  async find({ headers }: Asked, target: HostedTarget): Promise<VisitRow[]> {
    const found: VisitRow[] = [];
    for (const secret of this.cookies.read(headers, 'visit')) {
      // By the secret and not its hash, which would be computed for every request.
      const look = async () => (await this.store.find(hashSecret(secret), target)) ?? null;
      const visit = await this.visits.get(`${target.id} ${secret}`, look);
      if (visit) found.push(visit);
    }
    return found;
  }

  async begin(
    target: HostedTarget,
    visit: { how: VisitKind; userId?: string; sessionId?: string; policyVersion: string },
  ): Promise<string> {
    const secret = randomSecret();
    await this.store.begin(hashSecret(secret), target, visit);
    return this.cookies.set('visit', secret);
  }

  async end({ headers }: Asked, { id }: HostedTarget): Promise<void> {
    const hashes = this.cookies.read(headers, 'visit').map(hashSecret);
    if (await this.store.end(hashes, id)) this.topics.publish(hostedAccessTopic(id));
  }

  /** Starts a round trip to the sign-in page. A nonce that the browser has is kept, for rounds in several tabs. */
  startRound({ headers }: Asked): { cookie: string; state: string } {
    const nonce = this.cookies.read(headers, 'start').find(isNonce) ?? randomSecret();
    return { cookie: this.cookies.set('start', nonce), state: hashSecret(nonce) };
  }

  /** Creates a ticket for the browser whose nonce has this hash. */
  async ticketFor(
    { host, target }: HostedHost,
    ticket: { userId: string; sessionId: string; state: string; path: string },
  ): Promise<string> {
    const secret = randomSecret();
    await this.store.addTicket(hashSecret(secret), target, { host, ...ticket });
    return secret;
  }

  /** Trades a ticket for a visit. Undefined if it was spent, has expired, or belongs to another browser. */
  async enter(
    request: Asked,
    { host, target }: HostedHost,
    ticket: string,
    policyVersion: string,
  ): Promise<{ cookie: string; path: string } | undefined> {
    const states = this.cookies.read(request.headers, 'start').map(hashSecret);
    if (states.length === 0) return undefined;
    const spent = await this.store.spend(hashSecret(ticket), target, host, states);
    if (!spent) return undefined;
    const { user_id: userId, session_id: sessionId, path } = spent;
    const cookie = await this.begin(target, { how: 'sign_in', userId, sessionId, policyVersion });
    return { cookie, path };
  }

  @Chore('hosted_visits', { everyMs: HOUR_MS })
  deleteEnded(): Promise<void> {
    return this.store.deleteEnded();
  }
}
