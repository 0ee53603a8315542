import { Injectable } from '@nestjs/common';
import { TooManyRequests } from '../../../platform/errors/index.js';
import { requestOrigin } from '../../../platform/http/index.js';
import { Quotas } from '../../auth/index.js';

const MOST_AN_HOUR = 200;

/** How many metadata documents one address may have fetched: each is a request of ours to wherever it says. */
@Injectable()
export class DocumentQuota {
  constructor(private readonly quotas: Quotas) {}

  async admit(): Promise<boolean> {
    try {
      await this.quotas.spendOfAddress('oauth-document', requestOrigin()?.address ?? '', MOST_AN_HOUR);
      return true;
    } catch (error) {
      if (error instanceof TooManyRequests) return false;
      throw error;
    }
  }
}
