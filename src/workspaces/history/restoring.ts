import { Inject, Injectable } from '@nestjs/common';
import type { Entry, WorkspaceFs, WriteOptions } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/actor.js';
import { type Change, ChangeLog } from '../changes/change-log.js';
import { WorkspaceQuota } from '../changes/workspace-quota.js';
import { writerFor } from '../changes/writer.js';

/** What is put back. */
interface Earlier {
  readonly path: string;
  readonly content: Buffer;
  readonly executable: boolean;
}

type Conditions = Pick<WriteOptions, 'ifMatch' | 'ifNoneMatch'>;

/** Puts earlier contents back: within the quota, and written down, as any write. */
@Injectable()
export class Restoring {
  constructor(
    @Inject(WorkspaceQuota) private readonly quota: WorkspaceQuota,
    @Inject(ChangeLog) private readonly changes: ChangeLog,
  ) {}

  async write(
    actor: Actor,
    workspaceId: string,
    files: WorkspaceFs,
    { path, content, executable }: Earlier,
    conditions: Conditions,
  ): Promise<{ entry: Entry; created: boolean }> {
    await this.quota.require(workspaceId, { bytes: content.byteLength, files: 1 });
    await this.changes.beforeWriting(workspaceId, writerFor(actor), path);
    const written = await files.write(path, content, { ...conditions, executable });
    const { size, etag } = written.entry;
    const kind = written.created ? 'created' : 'modified';
    await this.record(actor, workspaceId, [{ path: written.entry.path, kind, size, etag }]);
    return written;
  }

  record(actor: Actor, workspaceId: string, changes: readonly Change[]): Promise<void> {
    return this.changes.record(workspaceId, writerFor(actor), changes);
  }
}
