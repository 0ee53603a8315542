import { Injectable } from '@nestjs/common';
import type { Entry, WorkspaceFs, WriteOptions } from '#libs/workspace-fs/index.js';
import type { Actor } from '../../platform/access/index.js';
import { countMissing, manifestOf, RecordedWrites, WorkspaceQuota, writerFor } from '../changes/index.js';

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
    private readonly quota: WorkspaceQuota,
    private readonly writes: RecordedWrites,
  ) {}

  async write(
    actor: Actor,
    workspaceId: string,
    files: WorkspaceFs,
    { path, content, executable }: Earlier,
    conditions: Conditions,
  ): Promise<{ entry: Entry; created: boolean }> {
    const room = { bytes: content.byteLength, files: await countMissing(files, path) };
    return this.quota.during(workspaceId, room, () =>
      this.writes.run(workspaceId, writerFor(actor), async ({ beforePlacing }) => {
        const written = await files.write(path, content, { ...conditions, executable, beforePlacing });
        const { size, etag } = written.entry;
        const kind = written.created ? 'created' : 'modified';
        return { result: written, changes: [{ path: written.entry.path, kind, size, etag }] };
      }),
    );
  }

  /** Removes a file, a link or an empty folder. */
  async remove(actor: Actor, workspaceId: string, files: WorkspaceFs, entry: Entry): Promise<void> {
    const { path } = entry;
    await this.writes.run(workspaceId, writerFor(actor), async ({ begin }) => {
      await begin([{ path, before: manifestOf([entry]) }]);
      await files.remove(path);
      return { result: undefined, changes: [{ path, kind: 'deleted' }] };
    });
  }
}
