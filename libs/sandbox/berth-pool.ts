import { Berth, type BerthParts } from './berth.js';

const SIZE = 6;
/** With no more than this left, new ones are made at once; otherwise when the commands have paused. */
const LOW = 1;
const PAUSE_MS = 50;

/** Keeps a few berths waiting, so that a command finds its control group ready. */
export class BerthPool {
  private readonly waiting: Berth[] = [];
  private filling: Promise<void> | undefined;
  private pause: NodeJS.Timeout | undefined;

  constructor(private readonly parts: BerthParts) {}

  /** @param descriptors of the caller, for the command; a berth that has them is made on the spot */
  async take(descriptors: number[]): Promise<Berth> {
    clearTimeout(this.pause);
    while (descriptors.length === 0) {
      const berth = this.waiting.pop();
      if (!berth) break;
      if (berth.isWaiting) return berth;
      berth.close();
    }
    return Berth.open(this.parts, descriptors);
  }

  /** To be called when a command is over: making berths would only have slowed it down. */
  replenish(): void {
    clearTimeout(this.pause);
    if (this.waiting.length <= LOW) this.fillInBackground();
    else this.pause = setTimeout(() => this.fillInBackground(), PAUSE_MS).unref();
  }

  /** Should it fail, so does the next command that finds no berth waiting, and tells its caller. */
  private fillInBackground(): void {
    this.filling ??= this.fill()
      .catch(() => undefined)
      .finally(() => {
        this.filling = undefined;
      });
  }

  private async fill(): Promise<void> {
    while (this.waiting.length < SIZE) this.waiting.push(await Berth.open(this.parts));
  }
}
