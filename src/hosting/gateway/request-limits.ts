import { networkOf } from '../../platform/limits/index.js';

const MINUTE_MS = 60_000;
const MAX_REFUSED = 600;
const MAX_OPEN_PER_ADDRESS = 256;
const MAX_OPEN_PER_HOST = 1_000;
/** Counts that are kept at once; an attacker with many addresses starts them over. */
const MAX_KEYS = 100_000;

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
  private readonly counts = new Map<string, number>();

  add(key: string): number {
    const count = (this.counts.get(key) ?? 0) + 1;
    this.counts.set(key, count);
    return count;
  }

  remove(key: string): void {
    const count = (this.counts.get(key) ?? 1) - 1;
    if (count <= 0) this.counts.delete(key);
    else this.counts.set(key, count);
  }
}

/** How much one address may ask of this process, and how much all may ask of one host. */
export class RequestLimits {
  private readonly requests = new MinuteCounts();
  private readonly refusals = new MinuteCounts();
  private readonly byAddress = new OpenCounts();
  private readonly byHost = new OpenCounts();

  /** `perMinute`: requests of one address to one host; 0 for any number. */
  constructor(private readonly perMinute: number) {}

  /** Counts a request; returns what ends it, or undefined where it is one too many. */
  open(address: string, host: string): (() => void) | undefined {
    const network = networkOf(address);
    if (this.perMinute > 0 && this.requests.add(`${network} ${host}`) > this.perMinute) return undefined;
    const [ofAddress, ofHost] = [this.byAddress.add(network), this.byHost.add(host)];
    const isTooMany = ofAddress > MAX_OPEN_PER_ADDRESS || ofHost > MAX_OPEN_PER_HOST;
    const end = () => {
      this.byAddress.remove(network);
      this.byHost.remove(host);
    };
    if (!isTooMany) return end;
    end();
    return undefined;
  }

  /** Counts a request that was refused. */
  refused(address: string): void {
    this.refusals.add(networkOf(address));
  }

  /** Whether an address was refused so often that it is not even looked at. */
  isRefusedTooOften(address: string): boolean {
    return this.refusals.of(networkOf(address)) >= MAX_REFUSED;
  }
}
