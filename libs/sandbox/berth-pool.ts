import { Berth, type BerthParts } from './berth.js';
import type { Owner } from './sandbox.js';

/** For an owner whose command has just ended, and may be followed by another. */
const PER_OWNER = 6;
/** For all owners together; beyond this the longest unused is given up. */
const IN_ALL = 24;
/** With no more than this left for an owner, new ones are made at once; otherwise when he has paused. */
const LOW = 1;
const PAUSE_MS = 50;

/** Keeps a few berths waiting, so that a command finds its control group ready. */
export class BerthPool {
  private readonly waiting: Berth[] = [];
  private readonly filling = new Set<number | undefined>();
  private readonly pauses = new Map<number | undefined, NodeJS.Timeout>();

  constructor(private readonly parts: BerthParts) {}

  /** @param descriptors of the caller, for the command; a berth that has them is made on the spot */
  async take(owner: Owner | undefined, descriptors: number[]): Promise<Berth> {
    this.cancelPause(owner);
    while (descriptors.length === 0) {
      const index = this.waiting.findLastIndex(berth => berth.isOf(owner));
      const [berth] = index < 0 ? [] : this.waiting.splice(index, 1);
      if (!berth) break;
      if (berth.isWaiting) return berth;
      berth.close();
    }
    return Berth.open(this.parts, owner, descriptors);
  }

  /** To be called when a command is over: making berths would only have slowed it down. */
  replenish(owner: Owner | undefined): void {
    this.cancelPause(owner);
    if (this.count(owner) <= LOW) return void this.fill(owner);
    const pause = setTimeout(() => this.fill(owner), PAUSE_MS).unref();
    this.pauses.set(owner?.uid, pause);
  }

  private async fill(owner: Owner | undefined): Promise<void> {
    if (this.filling.has(owner?.uid)) return;
    this.filling.add(owner?.uid);
    try {
      while (this.count(owner) < PER_OWNER) this.waiting.push(await Berth.open(this.parts, owner));
      while (this.waiting.length > IN_ALL) this.waiting.shift()?.close();
    } catch {
      // The next command finds no berth waiting, tries the same itself and tells its caller what is wrong.
    } finally {
      this.filling.delete(owner?.uid);
    }
  }

  private count(owner: Owner | undefined): number {
    return this.waiting.filter(berth => berth.isOf(owner)).length;
  }

  private cancelPause(owner: Owner | undefined): void {
    clearTimeout(this.pauses.get(owner?.uid));
    this.pauses.delete(owner?.uid);
  }
}
