/**
 * What a worker knows of messages that wait to enter the run that it carries. They enter between two steps; until then
 * a tool that takes long is told to come to an end, and calls that have not begun are not made.
 */
export class Steering {
  private arrival = new AbortController();

  /** Whether one waits, as far as is known. */
  get waits(): boolean {
    return this.arrival.signal.aborted;
  }

  /** Aborted when a message waits. */
  get signal(): AbortSignal {
    return this.arrival.signal;
  }

  /** `count` messages wait, as the database has it. */
  note(count: number): void {
    if (count > 0) this.arrival.abort();
    else if (this.waits) this.arrival = new AbortController();
  }
}
