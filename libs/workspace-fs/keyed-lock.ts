/** Runs tasks of the same key one after the other, in the order they were asked for. */
export class KeyedLock {
  private readonly tails = new Map<string, Promise<void>>();

  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const previous = this.tails.get(key);
    const turn = previous ? previous.then(task) : task();
    // The failure of a task is its caller's matter, not that of the next in line.
    const settled = turn.then(
      () => undefined,
      () => undefined,
    );
    this.tails.set(key, settled);
    try {
      return await turn;
    } finally {
      if (this.tails.get(key) === settled) this.tails.delete(key);
    }
  }
}
