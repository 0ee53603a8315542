import { within, withQueryDeadline } from '../database/index.js';
import type { Reading } from './instruments.js';

/** How long one look may take. */
const LOOK_MS = 2_000;
/** How long what was seen is shown again. */
const KEEP_MS = 5_000;

/** Readings that cost statements: looked at by one scrape at a time, and not again for some seconds, also where that failed. */
export class KeptReadings<Label extends string> {
  private kept: readonly Reading<Label>[] = [];
  private until = Number.NEGATIVE_INFINITY;
  private looking: Promise<readonly Reading<Label>[]> | undefined;

  constructor(
    private readonly look: () => Promise<readonly Reading<Label>[]>,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  async read(): Promise<readonly Reading<Label>[]> {
    if (performance.now() < this.until) return this.kept;
    this.looking ??= withQueryDeadline(LOOK_MS, this.look).finally(() => {
      this.looking = undefined;
    });
    try {
      this.kept = await within(LOOK_MS, this.looking);
    } catch (error) {
      this.kept = [];
      this.onFailure(error);
    }
    this.until = performance.now() + KEEP_MS;
    return this.kept;
  }
}
