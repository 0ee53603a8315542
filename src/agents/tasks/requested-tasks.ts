import type { Log } from '../../platform/log/index.js';
import type { Topics } from '../../platform/topics/index.js';
import { type TasksStore, tasksTopic } from '../runs/index.js';
import type { CarryTask, Places } from './run-tasks.js';

interface Parts {
  readonly tasks: TasksStore;
  readonly topics: Topics;
  readonly log: Log;
  readonly places: Places;
  /** Until `over` is aborted. */
  readonly carry: (over: AbortSignal) => CarryTask;
}

/**
 * Tasks that a run started through actions: from a script in its sandbox, say. One attempt at the run carries them beside
 * what its model does, in the run's own place on the queue.
 */
export class RequestedTasks {
  private readonly over = new AbortController();
  private readonly carried = new Map<string, Promise<void>>();
  private readonly resting = new EventTarget();
  private atWork = 0;
  private looking: Promise<void> = Promise.resolve();
  private readonly unsubscribe: () => void;

  constructor(
    private readonly runId: string,
    private readonly parts: Parts,
  ) {
    this.unsubscribe = parts.topics.subscribe(tasksTopic(runId), () => this.look());
  }

  /** Takes up those that are not carried yet. */
  look(): void {
    this.looking = this.looking.then(() => this.takeUp());
  }

  async atRest(steered: AbortSignal): Promise<void> {
    await this.looking;
    while (this.atWork > 0 && !steered.aborted && !this.over.signal.aborted)
      await new Promise<void>(resolve => {
        const done = () => {
          for (const signal of [steered, this.over.signal]) signal.removeEventListener('abort', done);
          this.resting.removeEventListener('rest', done);
          resolve();
        };
        for (const signal of [steered, this.over.signal]) signal.addEventListener('abort', done);
        this.resting.addEventListener('rest', done);
      });
  }

  /** Carries them no further; they stay as they are. */
  async close(): Promise<void> {
    this.unsubscribe();
    this.over.abort();
    await this.looking;
    await Promise.all(this.carried.values());
  }

  private async takeUp(): Promise<void> {
    if (this.over.signal.aborted) return;
    try {
      for (const id of await this.parts.tasks.requested(this.runId))
        if (!this.carried.has(id) && !this.over.signal.aborted) this.carried.set(id, this.carry(id));
    } catch (error) {
      // Looked for again when the connection is back: then every topic is told.
      this.parts.log.warn({ err: error }, 'run: the tasks that it started cannot be looked for');
    }
  }

  private async carry(id: string): Promise<void> {
    const { places, carry, log } = this.parts;
    this.atWork++;
    await places.enter();
    let isIn = true;
    const rest = () => {
      isIn = false;
      places.leave();
      this.rest();
    };
    const resume = async () => {
      this.atWork++;
      await places.enter();
      isIn = true;
    };
    try {
      const { signal } = this.over;
      if (!signal.aborted) await carry(signal)(id, { signal, rest, resume });
    } catch (error) {
      log.warn({ err: error, task_id: id }, 'run: a task that it started cannot be carried on now');
    } finally {
      if (isIn) rest();
    }
  }

  private rest(): void {
    this.atWork--;
    this.resting.dispatchEvent(new Event('rest'));
  }
}
