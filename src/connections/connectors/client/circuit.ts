const MAX_FAILURES = 5;
const WITHIN_MS = 60_000;
const OPEN_MS = 30_000;

interface Record {
  failures: number[];
  /** Nothing is sent until then. */
  openUntil: number;
  reason: string;
}

/** Sends nothing for half a minute to what failed five times within one, so that nobody waits for what is down. */
export class Circuits {
  private readonly records = new Map<string, Record>();

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Why nothing is sent there now; undefined where it is. */
  objection(id: string): string | undefined {
    const record = this.records.get(id);
    if (!record) return undefined;
    const left = record.openUntil - this.now();
    if (left <= 0) return undefined;
    return `It failed ${MAX_FAILURES} times within a minute, so it is left alone for ${Math.ceil(left / 1000)} more seconds. The last time: ${record.reason}`;
  }

  failed(id: string, reason: string): void {
    const now = this.now();
    const record = this.records.get(id) ?? { failures: [], openUntil: 0, reason };
    record.reason = reason;
    record.failures = [...record.failures.filter(at => now - at < WITHIN_MS), now];
    if (record.failures.length >= MAX_FAILURES) {
      record.openUntil = now + OPEN_MS;
      record.failures = [];
    }
    this.records.set(id, record);
    this.forget(now);
  }

  succeeded(id: string): void {
    this.records.delete(id);
  }

  private forget(now: number): void {
    for (const [id, { failures, openUntil }] of this.records)
      if (openUntil < now && failures.every(at => now - at >= WITHIN_MS)) this.records.delete(id);
  }
}
