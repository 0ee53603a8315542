import { Problem } from '../../platform/errors/index.js';

/** There is no room for a write: 413 for bytes, 409 for the number of files. */
export class NoRoom extends Problem {}

export interface Amount {
  bytes: number;
  /** Folders count as well: they use disk and time. */
  files: number;
}

interface Limits {
  readonly maxWorkspaceBytes: number;
  readonly maxWorkspaceFiles: number;
}

/** With bytes outside of the folder. */
type Held = Amount & { readonly elsewhere: number };

export function noRoomFor(
  usage: Held,
  more: Amount,
  { maxWorkspaceBytes, maxWorkspaceFiles }: Limits,
): NoRoom {
  if (usage.bytes + more.bytes > maxWorkspaceBytes)
    return new NoRoom(
      413,
      `The workspace holds ${usage.bytes} of the ${maxWorkspaceBytes} bytes it may have${ofThem(usage)}, and this takes ${more.bytes} more; delete something first`,
    );
  return new NoRoom(
    409,
    `The workspace holds ${usage.files} of the ${maxWorkspaceFiles} files and folders it may have, and this makes ${more.files} more; delete something first`,
  );
}

export function excessOf(held: Held, { maxWorkspaceBytes, maxWorkspaceFiles }: Limits): string | null {
  const { bytes, files } = held;
  if (bytes > maxWorkspaceBytes)
    return `the workspace holds ${bytes} bytes${ofThem(held)}, and may hold ${maxWorkspaceBytes}; delete something first.`;
  if (files > maxWorkspaceFiles)
    return `the workspace holds ${files} files, and may hold ${maxWorkspaceFiles}; delete something first.`;
  return null;
}

const ofThem = ({ elsewhere }: Held): string =>
  elsewhere > 0 ? ` (${elsewhere} of them in attachments of its chats and versions of its sites)` : '';

export const sumOf = (amounts: readonly Amount[]): Amount => ({
  bytes: amounts.reduce((sum, { bytes }) => sum + bytes, 0),
  files: amounts.reduce((sum, { files }) => sum + files, 0),
});
