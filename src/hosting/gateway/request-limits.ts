import { networkOf } from '../../platform/limits/index.js';

export const MAX_HEADERS = 100;
const MINUTE_MS = 60_000;
const MAX_REFUSED = 600;
const MAX_OPEN_PER_ADDRESS = 256;
const MAX_OPEN_PER_HOST = 1_000;
/** Keys counted at once; an attacker with more addresses starts the counts over. */
const MAX_KEYS = 100_000;
/** Below this number of keys, idle ones are not removed. */
const MIN_ROOM = 1_000;

/** Counts per key within the current minute. */
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

  count(key: string): number {
    return performance.now() < this.until ? (this.counts.get(key) ?? 0) : 0;
  }
}

/** Open requests or sockets per key. */
export class OpenCounts {
  private readonly counts = new Map<string, { open: number }>();
  private room = MIN_ROOM;

  /** The caller decrements when done. */
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

  /** Idle keys are kept until there are many: most come again. */
  private forget(): void {
    for (const [key, { open }] of this.counts) if (open === 0) this.counts.delete(key);
    this.room = Math.max(MIN_ROOM, 2 * this.counts.size);
  }
}

/** Concurrency limit per address and host, and per host. */
class OpenPlaces {
  private readonly byAddress = new OpenCounts();
  private readonly byHost = new OpenCounts();

  /** Returns a function that frees the slot; undefined if there is none. */
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

/** Request limits per address and per host, in this process. */
export class RequestLimits {
  private readonly asked = new MinuteCounts();
  private readonly refusals = new MinuteCounts();
  private readonly requests = new OpenPlaces();
  /** Separate from requests: WebSockets stay open for hours. */
  private readonly sockets = new OpenPlaces();

  /** `perMinute`: requests per address and host; 0 for no limit. */
  constructor(private readonly perMinute: number) {}

  /** Returns a function that ends the request; undefined if it exceeds a limit. */
  open(address: string, host: string): (() => void) | undefined {
    return this.openOne(this.requests, address, host);
  }

  /** As {@link open}, for a WebSocket. Its handshake counts as a request. */
  openSocket(address: string, host: string): (() => void) | undefined {
    return this.openOne(this.sockets, address, host);
  }

  /** Counts a refused request. */
  refused(address: string): void {
    this.refusals.add(networkOf(address));
  }

  /** Whether an address is blocked for its many refused requests. */
  isRefusedTooOften(address: string): boolean {
    return this.refusals.count(networkOf(address)) >= MAX_REFUSED;
  }

  private openOne(places: OpenPlaces, address: string, host: string): (() => void) | undefined {
    const network = networkOf(address);
    if (this.perMinute > 0 && this.asked.add(`${network} ${host}`) > this.perMinute) return undefined;
    return places.take(network, host);
  }
}
