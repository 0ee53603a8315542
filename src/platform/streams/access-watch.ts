import {
  type Actor,
  accessTopic,
  type Credentials,
  credentialTopic,
  workspaceAccessTopic,
} from '../access/index.js';
import type { Topics } from '../topics/index.js';

/** How old the last answer may be to the question whether a reader still may, when there is something to read. */
const PRECISION_MS = 10_000;
/** The longest time that a timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Who reads, and what. */
export interface Reader {
  readonly actor: Actor;
  readonly workspaceId: string | null;
  /** Throws where they may not, as it is now. */
  readonly require: () => Promise<unknown>;
}

/**
 * Whether somebody may still read what they opened: a stream outlives the credential and the role that it was opened with.
 * Asked when either may have changed, and when the last answer is old.
 */
export class AccessWatch {
  private readonly lost = new AbortController();
  private asked = Date.now();
  private asking: Promise<void> | undefined;
  /** Something may have changed since it was asked. */
  private isDoubtful = false;
  private readonly unsubscribe: (() => void)[];
  private readonly expiry: NodeJS.Timeout | undefined;

  constructor(
    topics: Topics,
    private readonly credentials: Pick<Credentials, 'stands'>,
    private readonly reader: Reader,
  ) {
    const { actor, workspaceId } = reader;
    const watched = [accessTopic(actor.id), credentialTopic(actor.credential.id)];
    if (workspaceId) watched.push(workspaceAccessTopic(workspaceId));
    this.unsubscribe = watched.map(topic => topics.subscribe(topic, () => void this.ask()));
    this.expiry = atExpiry(actor, () => void this.ask());
  }

  /** Aborted when they may not any more. */
  get signal(): AbortSignal {
    return this.lost.signal;
  }

  /** Whether they have to be asked for before they read on. */
  get isStale(): boolean {
    return this.asking !== undefined || Date.now() - this.asked > PRECISION_MS;
  }

  /** Asks now, or once more where an answer under way may come too early to count. */
  ask(): Promise<void> {
    this.isDoubtful = true;
    this.asking ??= this.askWhileDoubtful().finally(() => {
      this.asking = undefined;
    });
    return this.asking;
  }

  close(): void {
    clearTimeout(this.expiry);
    for (const end of this.unsubscribe) end();
  }

  private async askWhileDoubtful(): Promise<void> {
    while (this.isDoubtful && !this.lost.signal.aborted) {
      this.isDoubtful = false;
      this.asked = Date.now();
      if (!(await this.mayRead())) this.lost.abort();
    }
  }

  /** Where it cannot be told they may not: their client comes back, and is asked for at the door. */
  private async mayRead(): Promise<boolean> {
    try {
      await this.reader.require();
      return await this.credentials.stands(this.reader.actor.credential);
    } catch {
      return false;
    }
  }
}

/** Asks when the credential runs out: a key does by itself; a session and a grant are renewed. */
export function atExpiry({ credential }: Actor, ask: () => void): NodeJS.Timeout | undefined {
  if (credential.type !== 'api_key' || !credential.expires_at) return undefined;
  const left = Date.parse(credential.expires_at) - Date.now();
  return left > MAX_TIMER_MS ? undefined : setTimeout(ask, Math.max(0, left) + 1).unref();
}
