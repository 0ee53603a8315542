import { Injectable } from '@nestjs/common';
import { hashSecret } from '../../../platform/access/index.js';
import { TooManyRequests } from '../../../platform/errors/index.js';
import { networkOf } from '../../../platform/limits/index.js';
import { AttemptCount, Attempts } from './attempts.js';
import { Turns } from './turns.js';

/** After so many failures each further one doubles the wait, from a second on. */
interface Patience {
  readonly free: number;
  /** How long failures count, from the first one on. */
  readonly spanSeconds: number;
}
/** One account, from one place. */
const PAIR: Patience = { free: 5, spanSeconds: 86_400 };
/** All accounts, from one place, behind which there may be a whole office. */
const PLACE: Patience = { free: 50, spanSeconds: 3600 };
const LONGEST_WAIT_SECONDS = 900;
/** Hashing a password is work: one place may have this much of it done at once. */
const AT_ONCE = 4;

/**
 * Slows the guessing of passwords down without locking anyone out: failures count against the place they come from, never
 * against the account alone, so the right password from elsewhere works at any time.
 */
@Injectable()
export class LoginProtection {
  private readonly turns = new Turns(AT_ONCE);

  constructor(private readonly attempts: Attempts) {}

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
    return this.turns.take(place, async () => {
      const pair = await this.attempts.find(pairKey(email, place));
      refuseWhileWaiting(pair, PAIR);
      refuseWhileWaiting(await this.attempts.find(placeKey(place)), PLACE);
      const found = await check();
      if (found === undefined) await this.noteFailure(email, place);
      else if (pair) await this.attempts.forget(pairKey(email, place));
      return found;
    });
  }

  /** Forgets the failures of an account from a place, once its owner has shown by other means who they are. */
  async forgive(email: string, address: string): Promise<void> {
    await this.attempts.forget(pairKey(email, networkOf(address)));
  }

  private async noteFailure(email: string, place: string): Promise<void> {
    await this.attempts.add(pairKey(email, place), PAIR.spanSeconds);
    await this.attempts.add(placeKey(place), PLACE.spanSeconds);
  }
}

/** What was typed for an address may be anything, even a password, so it is not kept as it is. */
const pairKey = (email: string, place: string) => `login:${hashSecret(`${place} ${email}`)}`;
const placeKey = (place: string) => `login-from:${place}`;

function refuseWhileWaiting(failures: AttemptCount | undefined, { free }: Patience): void {
  if (!failures || failures.count < free) return;
  const wait = Math.min(2 ** (failures.count - free), LONGEST_WAIT_SECONDS);
  const left = Math.ceil(Math.min(wait - failures.secondsAgo, failures.secondsLeft));
  if (left > 0)
    throw new TooManyRequests(`Too many failed sign-ins; try again in ${left} seconds`, {
      'retry-after': String(left),
    });
}
