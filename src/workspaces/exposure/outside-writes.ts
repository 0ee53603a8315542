import { Injectable } from '@nestjs/common';
import {
  normalizePath,
  type WorkspaceFs,
  WorkspaceFsError,
  type WriteOptions,
  type Written,
} from '#libs/workspace-fs/index.js';
import { TooLarge } from '../../platform/errors/index.js';
import { countMissing, NoRoom, RecordedWrites, WorkspaceQuota, type Writer } from '../changes/index.js';

/** Whether a path below what is shared has a name that begins with a dot: settings, keys and repositories, most often. */
export const isHidden = (within: string): boolean => /(^|\/)\./.test(within);

/**
 * The path in the workspace of one below what is shared. Throws `invalid_path` for one that leads out (`..`), `not_found`
 * for one that stays hidden.
 */
export function pathBelow(shared: string, within: string): string {
  const below = normalizePath(within);
  if (isHidden(below)) throw new WorkspaceFsError('not_found', below);
  return [shared, below].filter(Boolean).join('/');
}

/** Where something is written, and by whom. */
interface Destination {
  readonly workspaceId: string;
  readonly files: WorkspaceFs;
  readonly path: string;
  readonly writer: Writer;
}

/** Writes by those who are no members: within the quota, and written down, like anybody's. */
@Injectable()
export class OutsideWrites {
  constructor(
    private readonly quota: WorkspaceQuota,
    private readonly writes: RecordedWrites,
  ) {}

  /** How full the workspace is, is nothing to outsiders: they hear (413) that there is no room. */
  async write(where: Destination, bytes: AsyncIterable<Uint8Array>, options: WriteOptions): Promise<Written> {
    try {
      return await this.writeWithin(where, bytes, options);
    } catch (error) {
      if (!(error instanceof NoRoom)) throw error;
      throw new TooLarge('There is no room for this; whoever shared the folder can make some');
    }
  }

  private async writeWithin(
    { workspaceId, files, path, writer }: Destination,
    bytes: AsyncIterable<Uint8Array>,
    options: WriteOptions,
  ): Promise<Written> {
    const room = { bytes: options.expectedBytes ?? 0, files: await countMissing(files, path) };
    return this.quota.during(workspaceId, room, kept =>
      this.writes.run(workspaceId, writer, async ({ beforePlacing }) => {
        const source = options.expectedBytes === undefined ? kept.within(bytes) : bytes;
        const done = await files.write(path, source, { ...options, beforePlacing });
        const { size, etag } = done.entry;
        const kind = done.created ? 'created' : 'modified';
        return { result: done, changes: [{ path: done.entry.path, kind, size, etag }] };
      }),
    );
  }
}
