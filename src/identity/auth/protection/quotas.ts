import { Injectable } from '@nestjs/common';
import { TooManyRequests } from '../../../platform/errors/index.js';
import { networkOf } from '../../../platform/limits/index.js';
import { Attempts } from './attempts.js';

const HOUR_SECONDS = 3600;

/** How often one place, or one account, may ask for something costly in an hour. */
@Injectable()
export class Quotas {
  constructor(private readonly attempts: Attempts) {}

  /** Counts one `what` of those from `address`; 429 beyond `most` an hour. */
  async spendOfAddress(what: string, address: string, most: number): Promise<void> {
    await this.spend(`${what}:${networkOf(address)}`, most);
  }

  /** Counts one `what` of those of an account; 429 beyond `most` an hour. */
  async spendOfAccount(what: string, id: string, most: number): Promise<void> {
    await this.spend(`${what}:${id}`, most);
  }

  private async spend(key: string, most: number): Promise<void> {
    const { count, secondsLeft } = await this.attempts.add(key, HOUR_SECONDS);
    if (count <= most) return;
    const left = Math.max(1, Math.ceil(secondsLeft));
    throw new TooManyRequests(`Too many requests of this kind; try again in ${left} seconds`, {
      'retry-after': String(left),
    });
  }
}
