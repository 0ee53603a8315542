import { Injectable } from '@nestjs/common';
import { beforeSideEffect, type Database, type UnitOfWork } from '../../platform/database/index.js';
import { Conflict, NotFound, Unavailable } from '../../platform/errors/index.js';
import { Events } from '../../platform/events/index.js';
import { Subscription, Topics } from '../../platform/topics/index.js';
import type { Refresher } from './refresher.js';
import { tokensChanged } from './token-events.js';
import { TokenRenewal } from './token-renewal.js';
import { decode, type HeldToken, hold, type TokenSet } from './token-set.js';
import { connectionTopic, type FoundTokenSet, type TokenStanding, TokensStore } from './tokens.store.js';

/** How long a request waits for tokens that another renews. */
const MAX_WAIT_MS = 30_000;

/** The grant is over; a person has to authorize again, under the same id. */
export class ReauthorizationNeeded extends Conflict {
  constructor(readonly reason: string | null) {
    super(`This connection has to be authorized again${reason ? `: ${reason}` : ''}`);
  }
}

interface Usable {
  readonly token: HeldToken;
  /** Its use was noted a moment ago. */
  readonly isNoted: boolean;
}

/** The tokens of integrations and connectors. A token leaves the vault only into a request that is being sent. */
@Injectable()
export class Tokens {
  constructor(
    private readonly store: TokensStore,
    private readonly renewal: TokenRenewal,
    private readonly topics: Topics,
    private readonly events: Events,
  ) {}

  /** Says how tokens of a kind are renewed; once, while modules start. */
  register(kind: string, refresher: Refresher): void {
    this.renewal.register(kind, refresher);
  }

  /** Keeps tokens; returns the id of the set, which stays the same whatever becomes of them. */
  add(unit: UnitOfWork, owner: { kind: string; organization_id: string }, tokens: TokenSet): Promise<string> {
    return this.store.insert(unit, owner, tokens);
  }

  /** Replaces the tokens, as after a person authorized again: the set is active, whatever it was before. */
  async replace(unit: UnitOfWork, id: string, tokens: TokenSet): Promise<void> {
    const row = await this.store.lock(unit, id);
    if (!row || !(await this.store.replace(unit, row, tokens))) throw new NotFound('No such connection');
    if (row.state === 'active') return;
    const { kind, organization_id } = row;
    await this.events.publish(unit, tokensChanged, {
      kind,
      id,
      organization_id,
      state: 'active',
      reason: null,
    });
  }

  /** Keeps tokens in the set of this id, or in a new one where there is none yet; returns the id. */
  async keep(
    unit: UnitOfWork,
    id: string | null,
    owner: { kind: string; organization_id: string },
    tokens: TokenSet,
  ): Promise<string> {
    if (id === null) return this.add(unit, owner, tokens);
    await this.replace(unit, id, tokens);
    return id;
  }

  remove(unit: UnitOfWork, ids: readonly string[]): Promise<void> {
    return this.store.delete(unit, ids);
  }

  standings(ids: readonly string[], within?: Pick<Database, 'tables'>): Promise<TokenStanding[]> {
    return ids.length === 0 ? Promise.resolve([]) : this.store.standings(ids, within);
  }

  /** The tokens even if the grant is over, to revoke them at the provider. */
  async opened(id: string): Promise<TokenSet | undefined> {
    const row = await this.store.find(id);
    const opened = row && (await this.store.open(row));
    return row && opened && decode(opened.secret, row.scopes);
  }

  /**
   * Sends a request with a usable token, which is renewed before where it ends soon. Where `isRejected` says of the result
   * that the provider did not take the token, it is renewed once and the request is sent once more: `send` is called at most
   * twice. Throws ReauthorizationNeeded (409), Unavailable (503), NotFound.
   */
  async use<T>(
    id: string,
    send: (token: HeldToken) => Promise<T>,
    isRejected: (result: T) => boolean = () => false,
  ): Promise<T> {
    const { token, isNoted } = await this.usable(id);
    const result = await send(token);
    if (!isNoted) await this.store.noteUse(id);
    if (!isRejected(result)) return result;
    const another = await this.afterRejection(id, token.revision);
    return another ? send(another.token) : result;
  }

  /**
   * Says that the provider did not take the token of a revision, of a request that can be sent but once: the next one gets
   * another, or is told that a person has to authorize again.
   */
  async reject(id: string, revision: number): Promise<void> {
    await this.afterRejection(id, revision);
  }

  private async usable(id: string, rejected?: number): Promise<Usable> {
    const wakeUp = new Subscription(this.topics, connectionTopic(id));
    const late = AbortSignal.timeout(MAX_WAIT_MS);
    try {
      for (;;) {
        const row = await this.store.find(id);
        if (!row) throw new NotFound('No such connection');
        if (row.state === 'needs_reauth') throw new ReauthorizationNeeded(row.reason);
        const isUsable = row.is_valid && row.revision !== rejected;
        if (isUsable && (row.is_fresh || !row.is_renewable || row.backs_off > 0)) return await this.held(row);
        if (!row.is_renewable) await this.renewal.lose(row, 'The access has ended, and cannot be renewed');
        else if (row.backs_off > 0) throw unavailable(row);
        else {
          beforeSideEffect();
          if (await this.renewal.renew(row, rejected !== undefined)) continue;
          if (isUsable) return await this.held(row);
          if (late.aborted) throw new Unavailable('Renewing the access takes too long; try again later');
          await wakeUp.wait(late);
        }
      }
    } finally {
      wakeUp.close();
    }
  }

  /** Undefined where there is no other: the caller gets what the provider said. */
  private async afterRejection(id: string, revision: number): Promise<Usable | undefined> {
    const row = await this.store.find(id);
    if (!row) return undefined;
    if (row.revision !== revision) return this.usable(id);
    if (row.backs_off > 0) return undefined;
    if (row.is_renewable) return this.usable(id, revision).catch(unlessUnavailable);
    await this.renewal.check(row);
    const after = await this.store.find(id);
    if (after?.state === 'needs_reauth') throw new ReauthorizationNeeded(after.reason);
    return undefined;
  }

  private async held(row: FoundTokenSet): Promise<Usable> {
    const opened = await this.store.open(row);
    if (!opened) throw new NotFound('No such connection');
    return { token: hold(decode(opened.secret, row.scopes), row.revision), isNoted: row.is_noted };
  }
}

function unavailable({ reason, backs_off }: FoundTokenSet): Unavailable {
  const seconds = Math.max(1, Math.ceil(backs_off));
  const why = reason ?? 'The provider does not take the access, which was renewed a moment ago';
  return new Unavailable(`${why}; it is tried again in ${seconds} s`, { 'retry-after': String(seconds) });
}

function unlessUnavailable(error: unknown): undefined {
  if (error instanceof Unavailable) return undefined;
  throw error;
}
