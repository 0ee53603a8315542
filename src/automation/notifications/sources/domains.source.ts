import { Injectable, OnModuleInit } from '@nestjs/common';
import { domainFailed, domainFailing } from '../../../hosting/domains/index.js';
import { type Notice, Notifier } from '../delivery/index.js';
import { SourcesStore } from './sources.store.js';

type Ids = Parameters<SourcesStore['domain']>;

/** Custom hosts whose DNS record is gone. Who added the host is notified. */
@Injectable()
export class DomainsSource implements OnModuleInit {
  constructor(
    private readonly notifier: Notifier,
    private readonly store: SourcesStore,
  ) {}

  onModuleInit(): void {
    this.notifier.on(domainFailing, 'domain.failing', ({ kind, target_id, host }) =>
      this.notice([kind, target_id, host], 'verified', problem => ({
        title: `The DNS record of ${host} is not found any more`,
        body: `${problem}. It is still served for two weeks: put the record back until then.`,
      })),
    );
    this.notifier.on(domainFailed, 'domain.failed', ({ kind, target_id, host }) =>
      this.notice([kind, target_id, host], 'failed', problem => ({
        title: `${host} is not served any more`,
        body: `${problem}. Put the record back and verify the host again.`,
      })),
    );
  }

  private async notice(
    [kind, targetId, host]: Ids,
    state: string,
    write: (problem: string) => Pick<Notice, 'title' | 'body'>,
  ): Promise<Notice | undefined> {
    const domain = await this.store.domain(kind, targetId, host);
    if (domain?.state !== state || domain.failing_since === null) return undefined;
    return {
      ...write(domain.problem ?? 'The record is missing'),
      audience: { people: domain.created_by === null ? [] : [domain.created_by] },
      organization_id: domain.organization_id,
      workspace_id: domain.workspace_id,
      about: `${targetId} ${host} ${domain.failing_since}`,
      data: { [`${kind}_id`]: targetId, host },
    };
  }
}
