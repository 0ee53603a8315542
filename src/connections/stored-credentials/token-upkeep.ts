import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { Config } from '../../platform/config/index.js';
import { Database, iso } from '../../platform/database/index.js';
import { Events } from '../../platform/events/index.js';
import { DueTimers } from '../../platform/schedule/index.js';
import { tokensExpiring } from './token-events.js';
import { TokenRenewal } from './token-renewal.js';
import { TOKENS_DUE, TokensStore } from './tokens.store.js';

const AT_ONCE = 20;

/** Renews what is in use before it ends, and says what ends soon. */
@Injectable()
export class TokenUpkeep implements OnApplicationBootstrap {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly store: TokensStore,
    private readonly renewal: TokenRenewal,
    private readonly timers: DueTimers,
    private readonly events: Events,
  ) {}

  onApplicationBootstrap(): void {
    if (!this.config.runsJobs) return;
    this.timers.start({
      topic: TOKENS_DUE,
      take: async () => (await this.warn()) + (await this.renew()),
      next: () => this.store.untilDue(),
      failure: 'cannot look for tokens that are due; trying again',
    });
  }

  private async renew(): Promise<number> {
    const claimed = await this.store.claimDue(AT_ONCE);
    await Promise.all(claimed.map(row => this.renewal.renewClaimed(row)));
    return claimed.length;
  }

  private warn(): Promise<number> {
    return this.database.transaction(async unit => {
      const ending = await this.store.takeWarnings(unit, AT_ONCE);
      for (const row of ending) {
        const { kind, id, organization_id, refresh_expires_at, access_expires_at } = row;
        const ends = row.is_renewable ? refresh_expires_at : access_expires_at;
        if (ends === null || row.state === 'needs_reauth') continue;
        await this.events.publish(unit, tokensExpiring, { kind, id, organization_id, ends_at: iso(ends) });
      }
      return ending.length;
    });
  }
}
