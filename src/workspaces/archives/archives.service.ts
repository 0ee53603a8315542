import { Inject, Injectable } from '@nestjs/common';
import { normalizePath } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/actor.js';
import { Action } from '../../platform/actions/action.js';
import { Config } from '../../platform/config/config.js';
import { ChangeLog } from '../changes/change-log.js';
import { WorkspaceQuota } from '../changes/workspace-quota.js';
import { writerFor } from '../changes/writer.js';
import { WorkspaceFolders, WorkspacesStore } from '../workspaces/index.js';
import { ExtractArchive, ExtractedView } from './archives.dto.js';
import { Extraction } from './extraction.js';

/** Unpacking archives. */
@Injectable()
export class ArchivesService {
  constructor(
    @Inject(Config) private readonly config: Config,
    @Inject(WorkspacesStore) private readonly workspaces: WorkspacesStore,
    @Inject(WorkspaceFolders) private readonly folders: WorkspaceFolders,
    @Inject(WorkspaceQuota) private readonly quota: WorkspaceQuota,
    @Inject(ChangeLog) private readonly changes: ChangeLog,
  ) {}

  @Action({
    name: 'file_extract',
    summary: 'Unpack a zip, tar or tar.gz archive; files that are there are never replaced',
    effect: 'write',
    permission: 'file.write',
    input: ExtractArchive,
    output: ExtractedView,
    refuses: {
      404: 'No such workspace or path',
      409: 'A file is in the way, or the workspace may not have that many files',
      413: 'More than the workspace has room for, or a bomb',
      503: 'The file changes meanwhile',
    },
  })
  async extract(actor: Actor, { workspace_id, path, to }: ExtractArchive): Promise<ExtractedView> {
    const files = this.folders.open(await this.workspaces.require(actor, 'file.write', workspace_id));
    const folder = normalizePath(to);
    const archive = await files.openRead(path);
    try {
      const extraction = new Extraction(files, archive, folder, this.config.maxFileBytes);
      const plan = await extraction.plan(await this.quota.room(workspace_id));
      const { files: count, folders, bytes, skipped } = plan;
      try {
        await this.quota.during(workspace_id, { bytes, files: count + folders }, () => extraction.run(plan));
      } finally {
        await this.changes.record(workspace_id, writerFor(actor), extraction.changes);
      }
      return { path: folder, files: count, bytes, skipped };
    } finally {
      await archive.close();
    }
  }
}
