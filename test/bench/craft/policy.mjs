import { bash, WAYS } from './hands.mjs';

/**
 * A task done by a script in the place of a model. Calls that the script makes before it waits are made in one step; it reads what
 * they answer and goes on from there. What it says goes with the calls that follow, and what it returns is said at the end.
 */
export class Policy {
  #asked = [];
  #pending = new Map();
  #end;
  #serial = 0;
  #said = '';
  /** How often it looked at what came of a change by a call of its own. */
  looks = 0;

  constructor(task, way) {
    const acts = Object.entries({ ...WAYS[way], run: bash }).map(([name, callOf]) => [
      name,
      (...given) => this.#ask(callOf(...given)),
    ]);
    const say = text => {
      this.#said = text;
    };
    this.work = () => task.work({ ...Object.fromEntries(acts), way, say });
  }

  /** What comes next, by the results of what came before: calls, or a text. */
  async next(results) {
    if (!this.#end) this.#end = this.work().then(text => ({ text }));
    for (const { id, text } of results) {
      this.#pending.get(id)?.(text);
      this.#pending.delete(id);
    }
    const calls = async () => {
      // The script goes on in microtasks; when these are done it waits for results.
      await new Promise(resolve => setImmediate(resolve));
      if (this.#asked.length === 0) return this.#end;
      const text = this.#said;
      this.#said = '';
      return { text, calls: this.#asked.splice(0) };
    };
    return calls();
  }

  /** A call, and where it came to no error that which goes with it. */
  async #ask({ after, ...call }) {
    const text = await this.#call(call);
    if (!after || /Error: |Exit code/.test(text)) return text;
    this.looks += 1;
    return `${text}\n${await this.#call(after)}`;
  }

  #call({ tool, input }) {
    const id = `call_${++this.#serial}`;
    this.#asked.push({ id, tool, input });
    return new Promise(resolve => this.#pending.set(id, resolve));
  }
}
