/** How long a process goes on to hear a kind of topic to which it does not subscribe any more. */
const KEPT_MS = 60_000;

/** What is to be written down of them. */
export interface Announcement {
  readonly kinds: readonly string[];
  /** Those that others may not send yet. */
  readonly added: readonly string[];
}

/**
 * The kinds of topics that this process listens to. Others find the kinds in its row of `process`, and send no other;
 * it is kept for a while, so that what is subscribed to again and again is written down once.
 */
export class Interests {
  private readonly users = new Map<string, { count: number; until: number }>();
  /** As others know them; what is not used any more is taken out before they learn of it. */
  private announced = new Set<string>();
  private isOutdated = false;

  /** Returns what ends it. */
  begin(kind: string): () => void {
    const users = this.users.get(kind) ?? { count: 0, until: 0 };
    this.users.set(kind, users);
    users.count++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      users.count--;
      users.until = performance.now() + KEPT_MS;
    };
  }

  /** For one who asks now and then. */
  touch(kind: string): void {
    const until = performance.now() + KEPT_MS;
    const users = this.users.get(kind);
    if (users) users.until = until;
    else this.users.set(kind, { count: 0, until });
  }

  /** Whether others know that this process listens to them. */
  has(kind: string): boolean {
    return this.announced.has(kind);
  }

  /** What others know may be outdated: the row is new, or what is not used any more may be left out. */
  review({ isNew = false } = {}): void {
    if (isNew) this.announced.clear();
    const now = performance.now();
    for (const [kind, { count, until }] of this.users)
      if (count === 0 && until < now) this.users.delete(kind);
    this.isOutdated ||= isNew || [...this.announced].some(kind => !this.users.has(kind));
  }

  get isUnsaved(): boolean {
    if (this.isOutdated) return true;
    for (const kind of this.users.keys()) if (!this.announced.has(kind)) return true;
    return false;
  }

  /** To be written down now; `saved` or `failed` is called after that. */
  take(): Announcement {
    const kinds = [...this.users.keys()];
    const added = kinds.filter(kind => !this.announced.has(kind));
    this.announced = new Set(kinds.filter(kind => this.announced.has(kind)));
    this.isOutdated = false;
    return { kinds, added };
  }

  saved({ added }: Announcement): void {
    for (const kind of added) this.announced.add(kind);
  }

  failed(): void {
    this.isOutdated = true;
  }
}
