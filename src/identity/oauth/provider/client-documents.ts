import { Injectable } from '@nestjs/common';
import { GuardedFetch } from '#libs/guarded-fetch/index.js';
import { TooManyRequests } from '../../../platform/errors/index.js';
import { requestOrigin } from '../../../platform/http/index.js';
import { Quotas } from '../../auth/index.js';

/** Metadata documents that one address may have fetched in an hour: each is a request of ours to an address of its choice. */
const MAX_PER_HOUR = 200;

/** Documents of clients, which are fetched from addresses that the clients name. */
@Injectable()
export class ClientDocuments {
  constructor(
    private readonly quotas: Quotas,
    private readonly outgoing: GuardedFetch,
  ) {}

  fetch(url: string, options: RequestInit): Promise<Response> {
    return this.outgoing.fetch(url, options);
  }

  /** Whether the client of the request at work may have its metadata document fetched. */
  async admit(): Promise<boolean> {
    try {
      const address = requestOrigin()?.address ?? '';
      await this.quotas.spendOfAddress('oauth-document', address, MAX_PER_HOUR);
      return true;
    } catch (error) {
      if (error instanceof TooManyRequests) return false;
      throw error;
    }
  }
}
