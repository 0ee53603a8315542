/** Tells when nothing of what belongs together is at work any more, and what is left waits for people. */
export class Stillness {
  private readonly still = new AbortController();

  /** `atWork` is how many begin. */
  constructor(private atWork: number) {}

  /** Aborted when it has become still, from then on. */
  get signal(): AbortSignal {
    return this.still.signal;
  }

  /** One has come to its end, or waits from now on. */
  rest(): void {
    this.atWork -= 1;
    if (this.atWork === 0) this.still.abort();
  }

  /** One that waited goes on. */
  resume(): void {
    this.atWork += 1;
  }
}
