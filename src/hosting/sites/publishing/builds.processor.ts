import { Processor } from '@nestjs/bullmq';
import { fairWorkerOptions, JobProcessor, JobRunner } from '../../../platform/jobs/index.js';
import { SiteBuilds } from './site-builds.js';
import { BUILDS, buildSite, compressVersion, removeSite } from './site-jobs.js';
import { VersionForms } from './version-forms.js';

/** Builds versions of sites. */
@Processor(BUILDS, fairWorkerOptions())
export class BuildsProcessor extends JobProcessor {
  constructor(runner: JobRunner, builds: SiteBuilds, forms: VersionForms) {
    super(runner);
    this.handle(
      buildSite,
      (payload, attempt) => builds.run(payload, attempt),
      payload => builds.abandon(payload),
    );
    this.handle(compressVersion, (payload, attempt) => forms.run(payload, attempt));
    this.handle(removeSite, payload => builds.remove(payload));
  }
}
