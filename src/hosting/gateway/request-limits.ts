import { networkOf } from '../../platform/limits/index.js';

/** Headers of one request. */
export const MAX_HEADERS = 100;
const MINUTE_MS = 60_000;
const MAX_REFUSED = 600;
const MAX_OPEN_PER_ADDRESS = 256;
const MAX_OPEN_PER_HOST = 1_000;
/** Counts that are kept at once; an attacker with many addresses starts them over. */
const MAX_KEYS = 100_000;
/** Keys whose requests are over are not looked for below so many. */
const MIN_ROOM = 1_000;

/** How much of something came in the minute that runs. */
export class MinuteCounts {
  private counts = new Map<string, number>();
  private until = 0;

  add(key: string): number {
    const now = performance.now();
    if (now >= this.until || this.counts.size >= MAX_KEYS) {
      this.counts = new Map();
      this.until = now + MINUTE_MS;
    }
    const count = (this.counts.get(key) ?? 0) + 1;
    this.counts.set(key, count);
    return count;
  }

  of(key: string): number {
    return performance.now() < this.until ? (this.counts.get(key) ?? 0) : 0;
  }
}

/** How many there are of each key. */
class OpenCounts {
  private readonly counts = new Map<string, { open: number }>();
  private room = MIN_ROOM;

  /** Counts one more; the caller counts down when it ends. */
  add(key: string): { open: number } {
    let count = this.counts.get(key);
    if (!count) {
      count = { open: 0 };
      if (this.counts.size >= this.room) this.forget();
      this.counts.set(key, count);
    }
    count.open++;
    return count;
  }

  /** Keys of which none is open are kept until there are many: most come again. */
  private forget(): void {
    for (const [key, { open }] of this.counts) if (open === 0) this.counts.delete(key);
    this.room = Math.max(MIN_ROOM, 2 * this.counts.size);
  }
}

/** How many of one kind one address has open, and all have on one host. */
class OpenPlaces {
  private readonly byAddress = new OpenCounts();
  private readonly byHost = new OpenCounts();

  /** Takes a place; returns what gives it back, or undefined where there is none. */
  take(network: string, host: string): (() => void) | undefined {
    const ofAddress = this.byAddress.add(network);
    const ofHost = this.byHost.add(host);
    const isTooMany = ofAddress.open > MAX_OPEN_PER_ADDRESS || ofHost.open > MAX_OPEN_PER_HOST;
    const end = () => {
      ofAddress.open--;
      ofHost.open--;
    };
    if (!isTooMany) return end;
    end();
    return undefined;
  }
}

/** How much one address may ask of this process, and how much all may ask of one host. */
export class RequestLimits {
  private readonly asked = new MinuteCounts();
  private readonly refusals = new MinuteCounts();
  private readonly requests = new OpenPlaces();
  /** Apart from requests, which WebSockets that stay open for hours would keep out. */
  private readonly sockets = new OpenPlaces();

  /** `perMinute`: requests of one address to one host; 0 for any number. */
  constructor(private readonly perMinute: number) {}

  /** Counts a request; returns what ends it, or undefined where it is one too many. */
  open(address: string, host: string): (() => void) | undefined {
    return this.openOne(this.requests, address, host);
  }

  /** As {@link open}, of a WebSocket. Its handshake is one of the requests of the minute. */
  openSocket(address: string, host: string): (() => void) | undefined {
    return this.openOne(this.sockets, address, host);
  }

  /** Counts a request that was refused. */
  refused(address: string): void {
    this.refusals.add(networkOf(address));
  }

  /** Whether an address was refused so often that it is not even looked at. */
  isRefusedTooOften(address: string): boolean {
    return this.refusals.of(networkOf(address)) >= MAX_REFUSED;
  }

  private openOne(places: OpenPlaces, address: string, host: string): (() => void) | undefined {
    const network = networkOf(address);
    if (this.perMinute > 0 && this.asked.add(`${network} ${host}`) > this.perMinute) return undefined;
    return places.take(network, host);
  }
}
