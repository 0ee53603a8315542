import { Injectable } from '@nestjs/common';
import type { Entry, WorkspaceFs, WriteOptions, Written } from '#libs/workspace-fs/index.js';
import type { Change } from './change-rows.store.js';
import { manifestOf } from './intent.js';
import { RecordedWrites } from './recorded-writes.js';
import { WorkspaceQuota } from './workspace-quota.js';
import type { Writer } from './writer.js';

export interface Destination {
  readonly workspaceId: string;
  readonly files: WorkspaceFs;
  readonly path: string;
  readonly writer: Writer;
}

/** Writes single files: within the quota, and recorded. */
@Injectable()
export class FileWriter {
  constructor(
    private readonly quota: WorkspaceQuota,
    private readonly writes: RecordedWrites,
  ) {}

  async write(
    { workspaceId, files, path, writer }: Destination,
    content: string | Uint8Array | AsyncIterable<Uint8Array>,
    options: WriteOptions = {},
  ): Promise<Written> {
    const isWhole = typeof content === 'string' || content instanceof Uint8Array;
    const bytes = isWhole ? Buffer.byteLength(content) : options.expectedBytes;
    const room = { bytes: bytes ?? 0, files: await files.countMissing(path) };
    return this.quota.during(workspaceId, room, kept =>
      this.writes.run(workspaceId, writer, async ({ beforePlacing }) => {
        const source = isWhole || bytes !== undefined ? content : kept.within(content);
        const written = await files.write(path, source, { ...options, beforePlacing });
        kept.placed();
        return { result: written, changes: [changeOf(written.entry, written.created)] };
      }),
    );
  }

  async remove({ workspaceId, files, writer }: Omit<Destination, 'path'>, entry: Entry): Promise<void> {
    const { path } = entry;
    await this.writes.run(workspaceId, writer, async ({ begin }) => {
      await begin([{ path, before: manifestOf([entry]) }]);
      await files.remove(path);
      return { result: undefined, changes: [{ path, kind: 'deleted' }] };
    });
  }
}

export function changeOf({ path, type, size, etag }: Entry, created: boolean): Change {
  return { path, kind: created ? 'created' : 'modified', size: type === 'file' ? size : null, etag };
}
