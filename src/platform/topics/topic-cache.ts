import { isOutage, withQueryDeadline } from '#libs/resilient-postgres/index.js';
import type { TopicKind, Topics } from './topics.js';

interface Entry<T> {
  readonly value: T;
  readonly mark: number | undefined;
  readonly at: number;
}

interface CacheOptions {
  readonly max: number;
  /** How long a value holds where nothing is published, and where the database cannot be asked. */
  readonly ttlMs: number;
}

/** How long a look may take, and how long it is not tried again where the database does not answer. */
const LOOK_MS = 2_500;
const AWAY_MS = 1_000;

/**
 * Values read from the database, each good until something of some kinds of topics is published: what was read before is
 * read again then. While the database does not answer, a value is good for its time.
 */
export class TopicCache<T> {
  /** The oldest is forgotten. */
  private readonly entries = new Map<string, Entry<T>>();
  private readonly pending = new Map<string, { mark: number | undefined; value: Promise<T> }>();

  /** The database did not answer; it is asked again after that. */
  private awayUntil = 0;

  constructor(
    private readonly topics: Topics,
    private readonly kinds: readonly TopicKind[],
    private readonly options: CacheOptions,
  ) {}

  async get(key: string, look: () => Promise<T>): Promise<T> {
    return this.find(key, look);
  }

  /** As {@link get}, at once where what was read is good: for those who are asked so often that waiting for it costs too much. */
  find(key: string, look: () => Promise<T>): T | Promise<T> {
    const entry = this.entries.get(key);
    return entry && this.isGood(entry) ? entry.value : this.readAgain(key, entry, look);
  }

  private async readAgain(key: string, entry: Entry<T> | undefined, look: () => Promise<T>): Promise<T> {
    const kept = entry && this.isYoung(entry) ? entry : undefined;
    if (kept && performance.now() < this.awayUntil) return kept.value;
    try {
      return await this.look(key, look);
    } catch (error) {
      if (!kept || !isOutage(error)) throw error;
      this.awayUntil = performance.now() + AWAY_MS;
      return kept.value;
    }
  }

  /** Those who ask at once share a look-up, unless something was published since it began. */
  private look(key: string, look: () => Promise<T>): Promise<T> {
    const mark = this.topics.mark(...this.kinds);
    const pending = this.pending.get(key);
    if (pending && mark !== undefined && pending.mark === mark) return pending.value;
    const begun = { mark, value: this.read(key, mark, look) };
    this.pending.set(key, begun);
    const end = () => {
      if (this.pending.get(key) === begun) this.pending.delete(key);
    };
    begun.value.then(end, end);
    return begun.value;
  }

  private async read(key: string, mark: number | undefined, look: () => Promise<T>): Promise<T> {
    const at = performance.now();
    const value = await withQueryDeadline(LOOK_MS, look);
    this.entries.delete(key);
    this.entries.set(key, { value, mark, at });
    const [oldest = ''] = this.entries.size > this.options.max ? this.entries.keys() : [key];
    if (oldest !== key) this.entries.delete(oldest);
    return value;
  }

  private isGood(entry: Entry<T>): boolean {
    const mark = this.topics.mark(...this.kinds);
    return mark !== undefined && entry.mark === mark && this.isYoung(entry);
  }

  private isYoung({ at }: Entry<T>): boolean {
    return performance.now() - at < this.options.ttlMs;
  }
}
