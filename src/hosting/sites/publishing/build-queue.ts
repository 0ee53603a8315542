import { Injectable, OnModuleInit } from '@nestjs/common';
import { Database, newId, type UnitOfWork } from '../../../platform/database/index.js';
import { defineJob, Jobs } from '../../../platform/jobs/index.js';
import { Leases } from '../../../platform/leases/index.js';
import type { VersionIds } from '../records/site-events.js';
import { VersionsStore } from '../records/versions.store.js';

export const BUILDS = 'builds';

export const buildSite = defineJob('build_site', { queue: BUILDS, payload: ['version_id', 'site_id'] });

/** Compresses the files of a built version. */
export const compressVersion = defineJob('compress_site_version', {
  queue: BUILDS,
  payload: ['version_id', 'site_id'],
});

export const removeSite = defineJob('remove_site', { queue: BUILDS, payload: ['site_id'] });

/** Queues builds. Requeues those of lost processes at once: the queue itself would notice half a minute later. */
@Injectable()
export class BuildQueue implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly versions: VersionsStore,
    private readonly jobs: Jobs,
    private readonly leases: Leases,
  ) {}

  onModuleInit(): void {
    this.leases.recover('site-build', () => this.requeueLost());
  }

  async add(unit: UnitOfWork, ids: VersionIds): Promise<void> {
    await this.jobs.enqueue(unit, buildSite, newId(), { ...ids });
  }

  /** Call when a build of the site ends: versions wait for one another. */
  async addNext(unit: UnitOfWork, site_id: string): Promise<void> {
    const version_id = await this.versions.nextQueued(unit, site_id);
    if (version_id) await this.add(unit, { version_id, site_id });
  }

  async addCompression(unit: UnitOfWork, ids: VersionIds): Promise<void> {
    await this.jobs.enqueue(unit, compressVersion, newId(), { ...ids });
  }

  async addRemoval(unit: UnitOfWork, site_id: string): Promise<void> {
    await this.jobs.enqueue(unit, removeSite, newId(), { site_id });
  }

  private async requeueLost(): Promise<void> {
    await this.database.transaction(async unit => {
      for (const { id: version_id, site_id } of await this.versions.requeueLost(unit))
        await this.add(unit, { version_id, site_id });
    });
  }
}
