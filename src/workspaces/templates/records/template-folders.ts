import path from 'node:path';
import { Injectable } from '@nestjs/common';
import { WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { Config } from '../../../platform/config/index.js';
import { defineJob } from '../../../platform/jobs/index.js';
import { TEMPLATES } from './template-operations.js';

/** `folder`: of a template, or of one of its versions. */
export const removeTemplateFiles = defineJob('remove_template_files', {
  queue: TEMPLATES,
  payload: ['folder'],
});

export const folderOfVersion = (version: { id: string; template_id: string }): string =>
  `${version.template_id}/${version.id}`;

/** Where the files of versions are kept: DATA_DIR/templates/<template>/<version>. */
@Injectable()
export class TemplateFolders {
  private readonly root: string;

  constructor(private readonly config: Config) {
    this.root = path.resolve(config.dataDir, 'templates');
  }

  open(version: { id: string; template_id: string }): WorkspaceFs {
    return new WorkspaceFs(path.join(this.root, folderOfVersion(version)), this.options());
  }

  /** Empty, whatever an earlier attempt left. */
  async create(version: { id: string; template_id: string }): Promise<WorkspaceFs> {
    await this.remove({ folder: folderOfVersion(version) });
    return this.add(version);
  }

  add(version: { id: string; template_id: string }): Promise<WorkspaceFs> {
    return WorkspaceFs.create(path.join(this.root, folderOfVersion(version)), this.options());
  }

  async remove({ folder }: { folder: string }): Promise<void> {
    try {
      await new WorkspaceFs(this.root, this.options()).remove(folder, { recursive: true });
    } catch (error) {
      if (!(error instanceof WorkspaceFsError && error.code === 'not_found')) throw error;
    }
  }

  private options() {
    return { maxFileBytes: this.config.workspaceLimits.file_bytes };
  }
}
