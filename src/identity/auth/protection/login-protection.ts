import { Injectable } from '@nestjs/common';
import { hashSecret } from '../../../platform/access/index.js';
import { Counters, networkOf } from '../../../platform/limits/index.js';
import { Patience } from './patience.js';
import { Turns } from './turns.js';

const DAY_SECONDS = 86_400;
const HOUR_SECONDS = 3600;
/** Hashing a password is work: one place may have this much of it done at once. */
const AT_ONCE = 4;

/**
 * Slows the guessing of passwords down without locking anyone out: failures count against the place they come from, never
 * against the account alone, so the right password from elsewhere works at any time.
 */
@Injectable()
export class LoginProtection {
  private readonly turns = new Turns(AT_ONCE);
  /** With one account, from one place. */
  private readonly pairs: Patience;
  /** With all accounts, from one place, behind which there may be a whole office. */
  private readonly places: Patience;

  constructor(counters: Counters) {
    this.pairs = new Patience(counters, 'login', 5, DAY_SECONDS);
    this.places = new Patience(counters, 'login-from', 50, HOUR_SECONDS);
  }

  /**
   * Runs `check`, which answers undefined for a wrong password, and counts what comes of it. Refuses (429) without a look
   * at the password while the wait after earlier failures lasts. Accounts that do not exist are treated no differently.
   */
  async attempt<T>(
    email: string,
    address: string,
    check: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const place = networkOf(address);
    const pair = pairOf(email, place);
    return this.turns.take(place, async () => {
      const failures = await this.pairs.admit(pair);
      await this.places.admit(place);
      const found = await check();
      if (found === undefined) {
        await this.pairs.noteFailure(pair);
        await this.places.noteFailure(place);
      } else if (failures > 0) await this.pairs.forget(pair);
      return found;
    });
  }

  /** Forgets the failures of an account from a place, once its owner has shown by other means who they are. */
  async forgive(email: string, address: string): Promise<void> {
    await this.pairs.forget(pairOf(email, networkOf(address)));
  }
}

/** What was typed for an address may be anything, even a password, so it is not kept as it is. */
const pairOf = (email: string, place: string) => hashSecret(`${place} ${email}`);
