import { type WorkspaceFs, WorkspaceFsError } from '#libs/workspace-fs/index.js';
import { type Actor, isApplication } from '../../platform/access/index.js';
import type { Change } from './change.js';

export const WRITER_TYPES = [
  'user',
  'service_account',
  'application',
  'run',
  'sandbox',
  'share',
  'form',
  'automation',
  'git',
] as const;

/** What wrote; `id` is that of the person, service account, application's grant, run, share, form, automation run or Git repository. */
export interface Writer {
  readonly type: (typeof WRITER_TYPES)[number];
  readonly id: string;
}

/** The run that acts, or calls the action, else the actor. */
export function writerFor(actor: Actor): Writer {
  const run = runOf(actor);
  if (run) return run;
  if (isApplication(actor)) return { type: 'application', id: actor.credential.id };
  return { type: actor.type, id: actor.id };
}

/** A command's writer: the run it belongs to, or a sandbox of the actor. */
export function sandboxWriterFor(actor: Actor): Writer {
  return runOf(actor) ?? { type: 'sandbox', id: actor.id };
}

/** The run, of an agent or of an automation's script, that acts through the credential. */
function runOf({ call, credential: { run, automation_run_id } }: Actor): Writer | undefined {
  if (call) return { type: 'run', id: call.runId };
  if (run) return { type: 'run', id: run.id };
  return automation_run_id === undefined ? undefined : { type: 'automation', id: automation_run_id };
}

const AGENT_INSTRUCTIONS = /^\.agents\/.*\.md$/;
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
