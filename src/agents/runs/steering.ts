/**
 * What a worker knows of messages that wait to enter the run that it carries. They enter between two steps; until then
 * a tool that takes long is told to come to an end, and calls that have not begun are not made. So it is in the tasks of
 * the run, which end at their next step.
 */
export class Steering {
  private arrival = new AbortController();

  /** `above` is that of the run which handed this one over as a task. */
  constructor(private readonly above?: Steering) {}

  /** Whether one waits, as far as is known. */
  get waits(): boolean {
    return this.arrival.signal.aborted;
  }

  /** Whether one waits to enter a run above, which this one keeps from going on. */
  get isInTheWay(): boolean {
    return this.above?.waits === true || this.above?.isInTheWay === true;
  }

  /** Aborted when a message waits, for this run or one above. */
  get signal(): AbortSignal {
    return this.above ? AbortSignal.any([this.arrival.signal, this.above.signal]) : this.arrival.signal;
  }

  /** `count` messages wait, as the database has it. */
  note(count: number): void {
    if (count > 0) this.arrival.abort();
    else if (this.waits) this.arrival = new AbortController();
  }
}
