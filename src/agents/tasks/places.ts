/** So many may be at work at once; others wait their turn, in the order in which they came. */
export class Places {
  private busy = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly atOnce: number) {}

  async enter(): Promise<void> {
    if (this.busy >= this.atOnce)
      await new Promise<void>(resolve => {
        this.waiting.push(resolve);
      });
    else this.busy++;
  }

  /** Hands its place to the next that waits. */
  leave(): void {
    const next = this.waiting.shift();
    if (next) next();
    else this.busy--;
  }
}
