import { Injectable, OnModuleInit } from '@nestjs/common';
import { Database, newId } from '../../../platform/database/index.js';
import { Jobs } from '../../../platform/jobs/index.js';
import { Leases } from '../../../platform/leases/index.js';
import { VersionsStore } from '../records/versions.store.js';
import { buildSite } from './site-jobs.js';

/** Builds whose process was lost are queued as soon as that is known; the queue would notice half a minute later. */
@Injectable()
export class LostBuilds implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly versions: VersionsStore,
    private readonly jobs: Jobs,
    private readonly leases: Leases,
  ) {}

  onModuleInit(): void {
    this.leases.recover('site-build', () => this.queueAgain());
  }

  private async queueAgain(): Promise<void> {
    await this.database.transaction(async unit => {
      for (const { id, site_id } of await this.versions.requeueLost(unit))
        await this.jobs.enqueue(unit, buildSite, newId(), { version_id: id, site_id });
    });
  }
}
