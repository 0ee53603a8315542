import { AsyncLocalStorage } from 'node:async_hooks';
import { type Actor, isApplication } from '../../platform/access/index.js';

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
