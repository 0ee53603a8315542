import { Injectable, OnApplicationShutdown } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '../database/index.js';
import { Log } from '../log/index.js';
import type { RateWindow } from './rate-limit-window.js';

const EVERY_MS = 200;
const MOST_AT_ONCE = 1000;

interface Share {
  caller: string;
  minute: number;
  window: RateWindow;
}
interface Total {
  caller: string;
  minute: number;
  total: number;
  before: number;
}

const nameOf = ({ caller, minute }: Pick<Share, 'caller' | 'minute'>) => `${minute} ${caller}`;

/**
 * Tells the other processes what callers did here, and learns what they did there: some thousand callers in one
 * statement, at most five times a second, and none while nobody is busy. Without the database each process goes on by
 * its own counts.
 */
@Injectable()
export class RateLimitShare implements OnApplicationShutdown {
  private waiting = new Map<string, Share>();
  private timer: NodeJS.Timeout | undefined;
  private last = Promise.resolve();
  private failing = false;

  constructor(
    private readonly database: Database,
    private readonly log: Log,
  ) {}

  onApplicationShutdown(): void {
    clearTimeout(this.timer);
  }

  /** Shares this window soon. */
  add(share: Share): void {
    const name = nameOf(share);
    if (this.waiting.has(name)) return;
    this.waiting.set(name, share);
    this.timer ??= setTimeout(() => void this.exchange(), EVERY_MS).unref();
  }

  /** Shares what waits, now; one exchange after the other. */
  exchange(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.last = this.last.then(() => this.sendAll());
    return this.last;
  }

  /** Counts older than the window before this one are of no use. */
  async deleteOld(minute: number): Promise<void> {
    await sql`delete from rate_count where minute < ${minute - 1}`.execute(this.database.tables());
  }

  private async sendAll(): Promise<void> {
    // Always in the same order: two processes that add the same rows in different orders would block each other.
    const shares = [...this.waiting.values()].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
    this.waiting = new Map();
    for (let at = 0; at < shares.length; at += MOST_AT_ONCE)
      await this.send(shares.slice(at, at + MOST_AT_ONCE));
  }

  private async send(shares: Share[]): Promise<void> {
    const counts = shares.map(({ window }) => window.startSharing());
    try {
      const totals = new Map((await this.write(shares, counts)).map(row => [nameOf(row), row]));
      for (const share of shares) {
        const row = totals.get(nameOf(share));
        share.window.shareSucceeded(row?.total ?? 0, row?.before ?? 0);
      }
      this.failing = false;
    } catch (error) {
      for (const { window } of shares) window.shareFailed();
      if (!this.failing) this.log.warn({ err: error }, 'rate limits count in this process alone for now');
      this.failing = true;
    }
  }

  private async write(shares: Share[], counts: number[]): Promise<Total[]> {
    const callers = shares.map(({ caller }) => caller);
    const minutes = shares.map(({ minute }) => minute);
    const { rows } = await sql<Total>`
      with added as (
        insert into rate_count as r (caller, minute, count)
        select * from unnest(${callers}::text[], ${minutes}::int[], ${counts}::int[])
        on conflict (caller, minute) do update set count = r.count + excluded.count
        returning caller, minute, count
      )
      select a.caller, a.minute, a.count as total, coalesce(b.count, 0) as before
      from added a left join rate_count b on b.caller = a.caller and b.minute = a.minute - 1`.execute(
      this.database.tables(),
    );
    return rows;
  }
}
