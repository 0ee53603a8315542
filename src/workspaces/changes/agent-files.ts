import { type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import type { Change } from './change-log.js';
import type { Writer } from './writer.js';

const SAYS_WHAT_AN_AGENT_MAY = /^\.agents\/.*\.md$/;
/** What no file is like. */
const UNKNOWN = '';

/** Those whose files an agent goes by unasked. */
export const PEOPLE: readonly (Writer['type'] | null)[] = ['user', 'service_account'];

/**
 * Notes, of files that say what an agent may and that a person has saved, what they are like: a program can write to a file
 * and set its times back, so that it looks as the person left it.
 */
export async function revisedBy(
  { type }: Writer,
  files: Pick<WorkspaceFs, 'revision'>,
  changes: readonly Change[],
): Promise<readonly Change[]> {
  if (!PEOPLE.includes(type)) return changes;
  return Promise.all(
    changes.map(async change => {
      const { path, etag } = change;
      if (!etag || !SAYS_WHAT_AN_AGENT_MAY.test(path)) return change;
      const found = await revisionOf(files, path);
      return { ...change, revision: found?.startsWith(etag) ? found : UNKNOWN };
    }),
  );
}

async function revisionOf(files: Pick<WorkspaceFs, 'revision'>, path: string): Promise<string | null> {
  try {
    return await files.revision(path);
  } catch (error) {
    if (error instanceof WorkspaceFsError) return null;
    throw error;
  }
}
