import { AsyncLocalStorage } from 'node:async_hooks';
import { type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { type Actor, isApplication } from '../../platform/access/index.js';
import type { Change } from './change-log.store.js';

export const WRITER_TYPES = [
  'user',
  'service_account',
  'application',
  'run',
  'sandbox',
  'share',
  'form',
] as const;

/** What wrote to a workspace; `id` is that of the person, service account, grant of the application, run, share or form. */
export interface Writer {
  readonly type: (typeof WRITER_TYPES)[number];
  readonly id: string;
}

const writers = new AsyncLocalStorage<Writer>();

/** Runs work whose writes are those of `writer`, in whoever's name it acts. */
export function writingAs<T>(writer: Writer, work: () => T): T {
  return writers.run(writer, work);
}

/** Who writes now: the writer set around this work, the run that called the action, else the actor. */
export function writerFor(actor: Actor): Writer {
  const writer = writers.getStore();
  if (writer) return writer;
  const { run } = actor.credential;
  if (run) return { type: 'run', id: run.id };
  if (isApplication(actor)) return { type: 'application', id: actor.credential.id };
  return { type: actor.type, id: actor.id };
}

/** Who a command of `actor` is, as a writer: the run it belongs to, or a sandbox of theirs. */
export function sandboxWriterFor(actor: Actor): Writer {
  return writers.getStore() ?? { type: 'sandbox', id: actor.id };
}

const AGENT_INSTRUCTIONS = /^\.agents\/.*\.md$/;
/** The revision of no file. */
const UNKNOWN = '';

/** Writers whose files instruct an agent unasked. */
export const PEOPLE: readonly (Writer['type'] | null)[] = ['user', 'service_account'];

/**
 * Adds the revision to changes of instruction files that a person saved: a program can write to a file and set its times
 * back, so that its entity tag is still the person's.
 */
export async function withRevisions(
  { type }: Writer,
  files: Pick<WorkspaceFs, 'revision'>,
  changes: readonly Change[],
): Promise<readonly Change[]> {
  if (!PEOPLE.includes(type)) return changes;
  return Promise.all(
    changes.map(async change => {
      const { path, etag } = change;
      if (!etag || !AGENT_INSTRUCTIONS.test(path)) return change;
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
