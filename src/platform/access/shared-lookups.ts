import { dryRun } from '../database/index.js';

interface Lookup<T> {
  readonly running: Promise<T>;
  next: Promise<T> | undefined;
}

/**
 * Looks something up once for all who ask at the same time. Nobody is given what was looked up before they asked: who comes
 * while a look-up is under way gets the result of the next one, together with all others who come meanwhile.
 */
export class SharedLookups<T> {
  private readonly lookups = new Map<string, Lookup<T>>();

  get(key: string, look: () => Promise<T>): Promise<T> {
    // What a dry run sees is of its own transaction.
    if (dryRun()) return look();
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
