import { Problem } from '../../platform/errors/index.js';

/** There is no room for a write: 413 for bytes, 409 for the number of files. */
export class NoRoom extends Problem {}

export interface Amount {
  bytes: number;
  /** Folders count as well: they use disk and time. */
  files: number;
}

/** With bytes outside of the folder. */
type Held = Amount & { readonly elsewhere: number };

export function noRoomFor(usage: Held, more: Amount, most: Readonly<Amount>): NoRoom {
  if (usage.bytes + more.bytes > most.bytes)
    return new NoRoom(
      413,
      `The workspace holds ${usage.bytes} of the ${most.bytes} bytes it may have${ofThem(usage)}, and this takes ${more.bytes} more; delete something first`,
    );
  return new NoRoom(
    409,
    `The workspace holds ${usage.files} of the ${most.files} files and folders it may have, and this makes ${more.files} more; delete something first`,
  );
}

export function excessOf(held: Held, most: Readonly<Amount>): string | null {
  const { bytes, files } = held;
  if (bytes > most.bytes)
    return `the workspace holds ${bytes} bytes${ofThem(held)}, and may hold ${most.bytes}; delete something first.`;
  if (files > most.files)
    return `the workspace holds ${files} files, and may hold ${most.files}; delete something first.`;
  return null;
}

const ofThem = ({ elsewhere }: Held): string =>
  elsewhere > 0 ? ` (${elsewhere} of them in attachments of its chats and versions of its sites)` : '';

export const sumOf = (amounts: readonly Amount[]): Amount => ({
  bytes: amounts.reduce((sum, { bytes }) => sum + bytes, 0),
  files: amounts.reduce((sum, { files }) => sum + files, 0),
});
