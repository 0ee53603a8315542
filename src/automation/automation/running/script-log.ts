import { DeltaWriter } from '#libs/delta-writer/index.js';
import type { AutomationRunsStore } from '../records/automation-runs.store.js';

/** What is kept of the output of one script for those who watch it, in characters: the beginning of it. */
const MAX_KEPT = 4 * 1024 * 1024;
const CUT = '\n(Further output is not shown here; its end is in the log of the run.)\n';

/** Writes down what a script prints while it runs, in the order in which it does. */
export class ScriptLog {
  private readonly deltas: DeltaWriter<'script.output'>;
  private pieces: number;
  private kept: number;

  /** `before` is what earlier tries of the run printed. `onFault` is called where something cannot be written down. */
  constructor(
    runs: AutomationRunsStore,
    id: string,
    before: { readonly pieces: number; readonly kept: number },
    onFault: (error: unknown) => void,
  ) {
    this.pieces = before.pieces;
    this.kept = before.kept;
    this.deltas = new DeltaWriter(async events => {
      const texts = events.map(({ data }) => String(data.text));
      await runs.print(id, this.pieces, texts);
      this.pieces += texts.length;
    }, onFault);
  }

  add(text: string): void {
    if (text === '' || this.kept > MAX_KEPT) return;
    this.kept += text.length;
    this.deltas.add('script.output', this.kept > MAX_KEPT ? CUT : text, {});
  }

  /** Resolves when all of it is written down, or cannot be. */
  async end(): Promise<void> {
    await Promise.allSettled([this.deltas.settle()]);
  }
}
