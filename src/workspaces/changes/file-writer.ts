import { Injectable } from '@nestjs/common';
import type { Entry, WorkspaceFs, WriteOptions, Written } from '#libs/workspace-fs/index.js';
import type { Change } from './change.js';
import { manifestOf } from './intent.js';
import { RecordedWrites } from './recorded-writes.js';
import { type KeptRoom, WorkspaceQuota } from './workspace-quota.js';
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
    let kept: KeptRoom | undefined;
    const source = isWhole || bytes !== undefined ? content : within(content, () => kept);
    return this.writes.run(workspaceId, writer, async ({ beforePlacing }) => {
      const around = (made: number, write: () => Promise<Written>) =>
        this.quota.during(workspaceId, { bytes: bytes ?? 0, files: made }, room => {
          kept = room;
          return write();
        });
      const result = await files.write(path, source, { ...options, around, beforePlacing });
      return { result, changes: [changeOf(result.entry, result.created)] };
    });
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

/** The bytes of a source whose length is not known, within the room that is kept when it is read. */
async function* within(
  source: AsyncIterable<Uint8Array>,
  kept: () => KeptRoom | undefined,
): AsyncGenerator<Uint8Array> {
  const room = kept();
  if (!room) throw new Error('No room is kept for what is read');
  yield* room.within(source);
}

export function changeOf({ path, type, size, etag }: Entry, created: boolean): Change {
  return { path, kind: created ? 'created' : 'modified', size: type === 'file' ? size : null, etag };
}
