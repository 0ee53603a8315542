import { Injectable } from '@nestjs/common';
import {
  normalizePath,
  WorkspaceFsError,
  type WriteOptions,
  type Written,
} from '#libs/workspace-fs/index.js';
import { TooLarge } from '../../platform/errors/index.js';
import { type Destination, FileWriter, NoRoom } from '../changes/index.js';

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

/** Writes by those who are no members. */
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
