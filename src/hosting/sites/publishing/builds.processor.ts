import { Processor } from '@nestjs/bullmq';
import { fairWorkerOptions, JobProcessor, JobRunner } from '../../../platform/jobs/index.js';
import { BuildOutcomes } from './build-outcomes.js';
import { BUILDS, buildSite, compressVersion, removeSite } from './build-queue.js';
import { SiteBuilds } from './site-builds.js';
import { VersionForms } from './version-forms.js';

@Processor(BUILDS, fairWorkerOptions())
export class BuildsProcessor extends JobProcessor {
  constructor(runner: JobRunner, builds: SiteBuilds, outcomes: BuildOutcomes, forms: VersionForms) {
    super(runner);
    this.handle(
      buildSite,
      (payload, attempt) => builds.run(payload, attempt),
      payload => outcomes.abandoned(payload),
    );
    this.handle(compressVersion, (payload, attempt) => forms.run(payload, attempt));
    this.handle(removeSite, payload => builds.remove(payload));
  }
}
