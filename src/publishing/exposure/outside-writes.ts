import { Injectable } from '@nestjs/common';
import {
  normalizePath,
  WorkspaceFsError,
  type WriteOptions,
  type Written,
} from '#libs/workspace-fs/index.js';
import { TooLarge } from '../../platform/errors/index.js';
import { type Destination, FileWriter, NoRoom } from '../../workspaces/changes/index.js';

/** Names that begin with a dot, often settings, keys and repositories, are not shared. */
export const isHidden = (within: string): boolean => /(^|\/)\./.test(within);

/**
 * A path below what is shared, in the workspace. Throws `invalid_path` for one that leads out (`..`), `not_found` for a
 * hidden one.
 */
export function pathBelow(shared: string, within: string): string {
  const below = normalizePath(within);
  if (isHidden(below)) throw new WorkspaceFsError('not_found', below);
  return [shared, below].filter(Boolean).join('/');
}

@Injectable()
export class OutsideWrites {
  constructor(private readonly writer: FileWriter) {}

  /** Outsiders do not learn how full the workspace is: they get 413 where there is no room. */
  async write(where: Destination, bytes: AsyncIterable<Uint8Array>, options: WriteOptions): Promise<Written> {
    try {
      return await this.writer.write(where, bytes, options);
    } catch (error) {
      if (!(error instanceof NoRoom)) throw error;
      throw new TooLarge('There is no room for this; whoever shared the folder can make some');
    }
  }
}
