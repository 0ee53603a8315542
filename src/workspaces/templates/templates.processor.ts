import { Processor } from '@nestjs/bullmq';
import { fairWorkerOptions, JobExecution, JobProcessor } from '../../platform/jobs/index.js';
import { TemplateCloning } from './cloning/template-cloning.js';
import { TemplatePublication } from './publishing/template-publication.js';
import { removeTemplateFiles, TemplateFolders } from './records/template-folders.js';
import { cloneFiles, publishFiles, TEMPLATES } from './records/template-operations.js';

/** Publishes, clones and removes the files of templates. */
@Processor(TEMPLATES, fairWorkerOptions())
export class TemplatesProcessor extends JobProcessor {
  constructor(
    execution: JobExecution,
    publications: TemplatePublication,
    clones: TemplateCloning,
    folders: TemplateFolders,
  ) {
    super(execution);
    this.handle(
      publishFiles,
      (payload, attempt) => publications.run(payload, attempt),
      payload => publications.abandon(payload),
    );
    this.handle(
      cloneFiles,
      (payload, attempt) => clones.run(payload, attempt),
      payload => clones.abandon(payload),
    );
    this.handle(removeTemplateFiles, payload => folders.remove(payload));
  }
}
