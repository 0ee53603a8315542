import { type Preconditions } from '#libs/http-files/index.js';
import { type Entry, quotePath } from '#libs/workspace-fs/index.js';
import { Conflict } from '../../platform/errors/index.js';

/** A file as it was when it was last read or written. */
export interface KnownFile {
  readonly path: string;
  readonly etag: string;
}

/**
 * How a file stands to what is known of it: `known` is what it is by now, `changed` means by someone else since, and
 * `unseen` that nothing is known.
 */
export type FileKnowledge = 'known' | 'changed' | 'unseen';

/** What a run has read and written, so that it overwrites nothing that it has not seen; other callers have `If-Match`. */
export interface KnownFiles {
  /** It was read, or written, and is like this. */
  learned(file: KnownFile): void;
  knowledgeOf(workspaceId: string, file: KnownFile): Promise<FileKnowledge>;
}

declare global {
  interface ActingCall {
    readonly known?: KnownFiles;
  }
}

const SINCE = 'was changed by someone else since this run read it';

/** What a whole new content is written on condition of. Throws Conflict where it would take the place of what was not seen. */
export async function requireSeen(
  known: KnownFiles,
  workspaceId: string,
  path: string,
  there: Entry | null,
): Promise<Preconditions> {
  if (!there) return { ifNoneMatch: '*' };
  const { etag, size } = there;
  if (etag === null || size === 0) return {};
  const knowledge = await known.knowledgeOf(workspaceId, { path, etag });
  if (knowledge === 'known') return { ifMatch: etag };
  const name = quotePath(path);
  const advice = `Read it with read_file, then write it, or change a part of it with edit_file`;
  throw new Conflict(
    knowledge === 'unseen'
      ? `${name} is there already, with ${size} bytes that this run has not read, so it was not overwritten. ${advice}`
      : `${name} ${SINCE}, so it was not overwritten. ${advice}`,
  );
}

/**
 * Throws Conflict where a file is about to be edited that someone else has changed; `shown` gives the lines around the edit,
 * as they are now: who has seen them may make it again.
 */
export async function requireUnchanged(
  known: KnownFiles | undefined,
  workspaceId: string,
  file: KnownFile,
  shown: () => string,
): Promise<void> {
  if (!known || (await known.knowledgeOf(workspaceId, file)) !== 'changed') return;
  known.learned(file);
  throw new Conflict(
    `${quotePath(file.path)} ${SINCE}, so nothing was written. Around the edit it is now:\n${shown()}\nMake the edit again if it is still right`,
  );
}
