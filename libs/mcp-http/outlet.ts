/** Passes what is put in to its listener; keeps what comes before there is one. */
export class Outlet<T> {
  private readonly early: T[] = [];
  private listener: ((item: T) => void) | undefined;

  put(item: T): void {
    if (this.listener) this.listener(item);
    else this.early.push(item);
  }

  /** From now on, and with what was kept, to `listener`. */
  openTo(listener: (item: T) => void): void {
    this.listener = listener;
    for (const item of this.early.splice(0)) listener(item);
  }

  /** Drops what comes from now on. */
  close(): void {
    this.openTo(() => undefined);
  }
}
