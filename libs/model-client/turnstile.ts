import { ModelError } from './model-error.js';

interface Waiting {
  enter: () => void;
}

/**
 * Lets at most so many through at once. Those who wait are let in turn by turn among their groups, and in each group in
 * the order in which they came: one group with many calls does not keep another with few from its turn.
 */
export class Turnstile {
  readonly #groups = new Map<string, Waiting[]>();
  #inside = 0;

  constructor(private readonly limit: number) {}

  /**
   * Resolves, when there is room, with what must be called on the way out, any number of times. `onWait` hears that there
   * is none yet. Throws ModelError (`aborted`) when the signal is.
   */
  async enter(group: string, signal: AbortSignal, onWait: () => void = () => {}): Promise<() => void> {
    if (signal.aborted) throw aborted();
    if (this.#inside < this.limit) this.#inside += 1;
    else {
      onWait();
      await this.#wait(group, signal);
    }
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      this.#leave();
    };
  }

  #wait(group: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const line = this.#groups.get(group) ?? [];
      this.#groups.set(group, line);
      const waiting = {
        enter: () => {
          signal.removeEventListener('abort', giveUp);
          resolve();
        },
      };
      const giveUp = () => {
        line.splice(line.indexOf(waiting), 1);
        if (line.length === 0 && this.#groups.get(group) === line) this.#groups.delete(group);
        reject(aborted());
      };
      signal.addEventListener('abort', giveUp, { once: true });
      line.push(waiting);
    });
  }

  /** The place goes to the next in line, so that nobody who comes just now takes it. */
  #leave(): void {
    const [next] = this.#groups;
    if (!next) {
      this.#inside -= 1;
      return;
    }
    const [group, line] = next;
    this.#groups.delete(group);
    const first = line.shift();
    if (line.length > 0) this.#groups.set(group, line);
    first?.enter();
  }
}

const aborted = () => new ModelError('aborted', 'The model call was aborted.');
