import { Processor } from '@nestjs/bullmq';
import { fairWorkerOptions, JobProcessor, JobRunner } from '../../../platform/jobs/index.js';
import { BUILDS, buildSite, compressVersion, removeSite } from './build-queue.js';
import { BuildRecorder } from './build-recorder.js';
import { SiteBuilds } from './site-builds.js';
import { VersionForms } from './version-forms.js';

@Processor(BUILDS, fairWorkerOptions())
export class BuildsProcessor extends JobProcessor {
  constructor(runner: JobRunner, builds: SiteBuilds, recorder: BuildRecorder, forms: VersionForms) {
    super(runner);
    this.handle(
      buildSite,
      (payload, attempt) => builds.run(payload, attempt),
      payload => recorder.abandoned(payload),
    );
    this.handle(compressVersion, (payload, attempt) => forms.run(payload, attempt));
    this.handle(removeSite, payload => builds.remove(payload));
  }
}
