/** For whom a piece of work is done: turns go round among organizations, and in each among its people. */
export interface TurnOf {
  readonly organizationId: string;
  readonly personId: string;
}

interface Waiting extends TurnOf {
  go(): void;
}

/**
 * Lets so many pieces of work of this process run at a time. Of those that wait, the next is one of the organization that
 * has the fewest under way, and in it of the person who has; among equals the one that has waited longest for a turn.
 */
export class FairTurns {
  private underWay = 0;
  private readonly busy = new Map<string, number>();
  /** When an organization or a person last got a turn, as a count of turns. */
  private readonly lastTurn = new Map<string, number>();
  private turns = 0;
  private readonly waiting: Waiting[] = [];

  constructor(private readonly atOnce: number) {}

  /** Runs `work` when its turn has come. Throws the reason of `signal` when that is aborted before. */
  async take<T>(whose: TurnOf, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.enter(whose, signal);
    try {
      return await work();
    } finally {
      this.leave(whose);
    }
  }

  private async enter(whose: TurnOf, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.underWay < this.atOnce) return this.begin(whose);
    await new Promise<void>((resolve, reject) => {
      const giveUp = () => {
        this.waiting.splice(this.waiting.indexOf(entry), 1);
        reject(signal.reason);
      };
      const go = () => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      const entry = { ...whose, go };
      this.waiting.push(entry);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  private begin(whose: TurnOf): void {
    this.underWay++;
    for (const key of keysOf(whose)) {
      this.busy.set(key, (this.busy.get(key) ?? 0) + 1);
      this.lastTurn.set(key, ++this.turns);
    }
  }

  private leave(whose: TurnOf): void {
    this.underWay--;
    for (const key of keysOf(whose)) {
      const left = (this.busy.get(key) ?? 1) - 1;
      if (left > 0) this.busy.set(key, left);
      else this.busy.delete(key);
    }
    if (this.waiting.length === 0) this.lastTurn.clear();
    const [first, ...others] = this.waiting;
    if (!first) return;
    const next = others.reduce((best, one) => (this.isBefore(one, best) ? one : best), first);
    this.waiting.splice(this.waiting.indexOf(next), 1);
    this.begin(next);
    next.go();
  }

  /** Whether `a` gets a turn before `b`, which came first. */
  private isBefore(a: TurnOf, b: TurnOf): boolean {
    const [rankA, rankB] = [this.rankOf(a), this.rankOf(b)];
    const place = rankA.findIndex((rank, index) => rank !== rankB[index]);
    return place >= 0 && (rankA[place] ?? 0) < (rankB[place] ?? 0);
  }

  private rankOf(whose: TurnOf): number[] {
    return keysOf(whose).flatMap(key => [this.busy.get(key) ?? 0, this.lastTurn.get(key) ?? 0]);
  }
}

/** The organization, then the person in it. */
const keysOf = ({ organizationId, personId }: TurnOf) => [organizationId, `${organizationId} ${personId}`];
