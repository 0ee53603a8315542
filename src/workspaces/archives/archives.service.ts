import { Injectable } from '@nestjs/common';
import { ArchiveError } from '#libs/archive-reader/index.js';
import { ConcurrencyLimit } from '#libs/concurrency-limit/index.js';
import { type WorkspaceFs, workspacePath } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/index.js';
import { Action } from '../../platform/actions/index.js';
import { Config } from '../../platform/config/index.js';
import { Field } from '../../platform/dto/index.js';
import { Invalid, TooLarge, translateErrors } from '../../platform/errors/index.js';
import { RecordedWrites, WorkspaceQuota, writerFor } from '../changes/index.js';
import { WorkspaceFolders, WorkspaceId, WorkspacesStore } from '../core/index.js';
import { Extraction } from './extraction.js';

export class ExtractArchive extends WorkspaceId {
  @Field.text('The archive: zip, tar or tar.gz', { min: 1, max: 4096, example: 'downloads/archive.zip' })
  path: string;

  @Field.text('The folder to unpack into; empty: the whole workspace', { max: 4096, example: 'unpacked' })
  to: string;
}

export class ExtractedView {
  @Field.text('The folder', { max: 4096, example: 'unpacked' }) path: string;
  @Field.integer('Files that were written', { example: 12 }) files: number;
  @Field.integer('Their bytes', { example: 34567 }) bytes: number;
  @Field.integer('Files that were there already, as the archive has them', { example: 0 }) unchanged: number;

  @Field.text('Entries that were left out: links and special files; the first 1000 of them', {
    list: true,
    example: [],
  })
  skipped: string[];
}

translateErrors(
  ArchiveError,
  ({ code, message }) => new (code === 'unreadable' ? Invalid : TooLarge)(message),
);

const MAX_CONCURRENT = 4;

@Injectable()
export class ArchivesService {
  private readonly limit = new ConcurrencyLimit(MAX_CONCURRENT, 'archives are unpacked in this workspace');

  constructor(
    private readonly config: Config,
    private readonly workspaces: WorkspacesStore,
    private readonly folders: WorkspaceFolders,
    private readonly quota: WorkspaceQuota,
    private readonly writes: RecordedWrites,
  ) {}

  @Action('file_extract', 'POST /api/workspaces/:workspaceId/files/extract', {
    summary:
      'Unpack a zip, tar or tar.gz archive; files that are there are never replaced, and the same ones left alone: it may be repeated',
    effect: 'write',
    permission: 'file.write',
    input: ExtractArchive,
    output: ExtractedView,
    evidence: 'read the path, or its history',
    refuses: {
      404: 'No such workspace or path',
      409: 'A file is in the way, or the workspace may not have that many files',
      413: 'More than the workspace has room for, or a bomb',
      503: 'The file changes meanwhile',
    },
  })
  async extract(actor: Actor, input: ExtractArchive): Promise<ExtractedView> {
    const files = this.folders.open(await this.workspaces.require(actor, 'file.write', input.workspace_id));
    return this.limit.run(() => this.extractNow(actor, files, input), { key: input.workspace_id });
  }

  private async extractNow(
    actor: Actor,
    files: WorkspaceFs,
    { workspace_id, path, to }: ExtractArchive,
  ): Promise<ExtractedView> {
    const folder = workspacePath(to);
    const archive = await files.openRead(path);
    try {
      const extraction = new Extraction(files, archive, folder, this.config.workspaceLimits.file_bytes);
      const plan = await extraction.plan(await this.quota.room(workspace_id));
      const { files: count, folders, bytes, unchanged, skipped } = plan;
      await this.quota.during(workspace_id, { bytes, files: count + folders }, () =>
        this.writes.run(workspace_id, writerFor(actor), async ({ begin }) => {
          await begin([{ path: folder }]);
          await extraction.run(plan);
          return { result: undefined, changes: extraction.changes };
        }),
      );
      return { path: folder, files: count, bytes, unchanged, skipped };
    } finally {
      await archive.close();
    }
  }
}
