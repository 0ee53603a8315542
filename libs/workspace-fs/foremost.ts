/** The first so many of many things in an order, as they come along: memory and time for those few alone. */
export class Foremost<T> {
  private kept: T[] = [];

  constructor(
    private readonly count: number,
    private readonly order: (a: T, b: T) => number,
  ) {}

  add(one: T): void {
    const last = this.kept[this.count - 1];
    if (last !== undefined && this.kept.length === this.count && this.order(one, last) >= 0) return;
    this.kept.push(one);
    if (this.kept.length >= 2 * this.count) this.cut();
  }

  all(): T[] {
    this.cut();
    return [...this.kept];
  }

  private cut(): void {
    this.kept.sort(this.order);
    this.kept.length = Math.min(this.kept.length, this.count);
  }
}
