/** What one call may take. */
export interface GatherRules<Item> {
  /** Most items of a call. */
  readonly maxItems: number;
  /** Most of what `sizeOf` adds up to; a single item may be larger. */
  readonly maxSize?: number;
  readonly sizeOf?: (item: Item) => number;
  /** Begins when the turn of the event loop is over, so that what comes in one turn is done together from the first. */
  readonly isAfterTurn?: boolean;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Does together what comes for a key while earlier work for it is under way. `work` resolves with a result for each item, in
 * their order; where it rejects, all of its items do.
 */
export class GatheredWork<Item, Result> {
  private readonly lines = new Map<string, Waiting<Item, Result>[]>();

  constructor(
    private readonly work: (key: string, items: readonly Item[]) => Promise<readonly Result[]>,
    private readonly rules: GatherRules<Item>,
  ) {}

  do(key: string, item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const waiting = { item, resolve, reject };
      const line = this.lines.get(key);
      if (line) return void line.push(waiting);
      this.lines.set(key, [waiting]);
      void this.go(key);
    });
  }

  private async go(key: string): Promise<void> {
    if (this.rules.isAfterTurn) await new Promise(resolve => setImmediate(resolve));
    for (let line = this.lines.get(key); line && line.length > 0; line = this.lines.get(key)) {
      const { now, later } = this.split(line);
      this.lines.set(key, later);
      try {
        const results = await this.work(
          key,
          now.map(({ item }) => item),
        );
        for (const [at, { resolve }] of now.entries()) resolve(results[at] as Result);
      } catch (error) {
        for (const { reject } of now) reject(error);
      }
    }
    this.lines.delete(key);
  }

  /** The first, and those after it as far as they fit. */
  private split(line: readonly Waiting<Item, Result>[]): Record<'now' | 'later', Waiting<Item, Result>[]> {
    const { maxItems, maxSize = Number.POSITIVE_INFINITY, sizeOf = () => 0 } = this.rules;
    let count = 0;
    let size = 0;
    for (const { item } of line) {
      size += sizeOf(item);
      if (count > 0 && (count >= maxItems || size > maxSize)) break;
      count++;
    }
    return { now: line.slice(0, count), later: line.slice(count) };
  }
}
