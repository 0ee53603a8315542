interface Lookup<T> {
  readonly running: Promise<T>;
  next: Promise<T> | undefined;
}

/**
 * Shares look-ups between concurrent callers. No caller gets a result that is older than its call: those who call while a
 * look-up runs share the next one.
 */
export class SharedLookups<T> {
  private readonly lookups = new Map<string, Lookup<T>>();

  get(key: string, look: () => Promise<T>): Promise<T> {
    const current = this.lookups.get(key);
    if (!current) return this.begin(key, look);
    current.next ??= current.running.then(
      () => this.begin(key, look),
      () => this.begin(key, look),
    );
    return current.next;
  }

  private begin(key: string, look: () => Promise<T>): Promise<T> {
    const lookup: Lookup<T> = { running: look(), next: undefined };
    this.lookups.set(key, lookup);
    const end = () => {
      if (!lookup.next) this.lookups.delete(key);
    };
    lookup.running.then(end, end);
    return lookup.running;
  }
}
