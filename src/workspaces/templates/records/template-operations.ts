import type { Visibility } from '../../../platform/access/index.js';
import { defineJob } from '../../../platform/jobs/index.js';
import { defineOperation } from '../../operations/index.js';
import type { Values } from './parameters.js';

export interface PublishInput {
  readonly template_id: string;
  readonly version_id: string;
  readonly name: string | null;
  readonly visibility: 'workspace_admins' | 'org' | 'installation' | null;
  readonly acknowledge: readonly string[];
}
export const templatePublish = defineOperation<PublishInput>(
  'template_publish',
  'The template was not published; try again',
);

export interface CloneInput {
  readonly template_id: string;
  readonly version_id: string;
  readonly target_id: string;
  /** Once it is complete; until then only the caller sees it. */
  readonly visibility: Visibility;
  readonly values: Values;
  readonly skipped: readonly string[];
}
export const templateClone = defineOperation<CloneInput>(
  'template_clone',
  'The workspace was not made of the template; try again',
);

/** The queue of templates that are published, cloned and removed. */
export const TEMPLATES = 'templates';

export const publishFiles = defineJob('publish_template_files', {
  queue: TEMPLATES,
  payload: ['operation_id'],
});
export const cloneFiles = defineJob('clone_template_files', { queue: TEMPLATES, payload: ['operation_id'] });
