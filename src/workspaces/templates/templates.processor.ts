import { Processor } from '@nestjs/bullmq';
import { fairWorkerOptions, JobRunner } from '../../platform/jobs/index.js';
import { OperationProcessor, OperationRunner } from '../operations/index.js';
import { TemplateCloning } from './cloning/template-cloning.js';
import { TemplatePublication } from './publishing/template-publication.js';
import { removeTemplateFiles, TemplateFolders } from './records/template-folders.js';
import { cloneFiles, publishFiles, TEMPLATES } from './records/template-operations.js';

/** Publishes, clones and removes the files of templates. */
@Processor(TEMPLATES, fairWorkerOptions())
export class TemplatesProcessor extends OperationProcessor {
  constructor(
    runner: JobRunner,
    operations: OperationRunner,
    publications: TemplatePublication,
    clones: TemplateCloning,
    folders: TemplateFolders,
  ) {
    super(runner, operations);
    this.perform(publishFiles, publications);
    this.perform(cloneFiles, clones);
    this.handle(removeTemplateFiles, payload => folders.remove(payload));
  }
}
