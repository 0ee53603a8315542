import {
  type Actor,
  accessTopic,
  type Credentials,
  credentialTopic,
  workspaceAccessTopic,
} from '../access/index.js';
import { problemOf } from '../errors/index.js';
import type { Topics } from '../topics/index.js';
import type { ServerEvent } from './sse.js';

/** How old the last answer may be to the question whether a watcher still may, when there is something to tell. */
const PRECISION_MS = 10_000;
/** The longest time that a timer takes. */
const MOST_TIMER_MS = 2 ** 31 - 1;

/** Who watches, and what. */
export interface Watcher {
  readonly actor: Actor;
  readonly workspaceId: string | null;
  /** Whether they may, as it is now. */
  readonly may: () => Promise<boolean>;
}

/** Whether `require` still finds nothing to refuse, and the credential stands. Faults of the service are thrown on. */
export async function stillMay(
  credentials: Pick<Credentials, 'stands'>,
  { credential }: Actor,
  require: () => Promise<unknown>,
): Promise<boolean> {
  try {
    await require();
    return await credentials.stands(credential);
  } catch (error) {
    if (!problemOf(error)) throw error;
    return false;
  }
}

type Batches = AsyncIterable<ServerEvent[]>;

/**
 * Passes events on for as long as the watcher may see them: a stream outlives the credential and the role that it was
 * opened with, and ends when either is lost. `open` is given what is aborted then, or with `signal`. An empty batch passes
 * nothing on and asks at once.
 */
export async function* whileAllowed(
  topics: Topics,
  { actor, workspaceId, may }: Watcher,
  open: (signal: AbortSignal) => Batches,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent[]> {
  const over = new AbortController();
  let asked = Date.now();
  const ask = async () => {
    asked = Date.now();
    // Where it cannot be told the stream ends, too: its reader comes back, and is asked for at the door.
    if (!(await may().catch(() => false))) over.abort();
  };
  const watched = [accessTopic(actor.id), credentialTopic(actor.credential.id)];
  if (workspaceId) watched.push(workspaceAccessTopic(workspaceId));
  const unsubscribe = watched.map(topic => topics.subscribe(topic, () => void ask()));
  const expiry = atExpiry(actor, () => void ask());
  try {
    for await (const batch of open(AbortSignal.any([signal, over.signal]))) {
      if (batch.length === 0 || Date.now() - asked > PRECISION_MS) await ask();
      if (over.signal.aborted) return;
      if (batch.length > 0) yield batch;
    }
  } finally {
    clearTimeout(expiry);
    for (const end of unsubscribe) end();
  }
}

/** Asks when the credential runs out: a key does by itself; a session and a grant are renewed. */
export function atExpiry({ credential }: Actor, ask: () => void): NodeJS.Timeout | undefined {
  if (credential.type !== 'api_key' || !credential.expires_at) return undefined;
  const left = Date.parse(credential.expires_at) - Date.now();
  return left > MOST_TIMER_MS ? undefined : setTimeout(ask, Math.max(0, left) + 1).unref();
}
