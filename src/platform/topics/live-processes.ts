import { setMaxListeners } from 'node:events';
import { Injectable, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, newId, withQueryDeadline } from '../database/index.js';
import { Log } from '../log/index.js';
import { Signals } from './signals.js';

const BEAT_MS = 2_000;
/** A process that was not seen for so long counts as lost. */
const LOST_SECONDS = 15;
/** After so long without one, a process ends what it holds: well before others take it over, by a clock that nobody sets. */
const OUT_OF_TOUCH_MS = 10_000;
/** How long giving one may take, so that the next may succeed where this one is swallowed. */
const SHOW_MS = 4_000;
/** How old its newest sign of life may be for a process to take work up. */
const FRESH_MS = 5_000;
/**
 * Beats in a row after which a process judges others, and between two times it does: after the database was away, all
 * have shown themselves by then.
 */
const ROUND = 3;

/**
 * Which processes of the service live, by a sign of life that each gives. What a lost one held, others take over; what
 * it had committed and not told, everyone looks for. One that was only slow finds that it holds nothing any more.
 */
@Injectable()
export class LiveProcesses implements OnApplicationBootstrap, OnApplicationShutdown {
  /** The id of this process. */
  readonly id = newId();
  private readonly rounds: (() => Promise<void>)[] = [];
  private timer: NodeJS.Timeout | undefined;
  private beating: Promise<void> | undefined;
  private lastBeat = Number.NEGATIVE_INFINITY;
  private contact = newContact();
  private fence: NodeJS.Timeout | undefined;
  private inARow = 0;

  constructor(
    private readonly database: Database,
    private readonly signals: Signals,
    private readonly log: Log,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.show();
    this.timer = setInterval(() => {
      this.beating ??= this.beat().finally(() => {
        this.beating = undefined;
      });
    }, BEAT_MS).unref();
  }

  /** Its row stays behind until others find it. */
  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.beating;
    clearTimeout(this.fence);
  }

  /** Calls `work` every few seconds, for as long as this process is in touch with the others. */
  everyRound(work: () => Promise<void>): void {
    this.rounds.push(work);
  }

  /** Gives a sign of life unless the last one is new: before work is taken up, which a lost process may not hold. */
  async requireFresh(): Promise<void> {
    if (!this.isFresh) await this.show();
  }

  /**
   * Aborted when this process is out of touch with the others for so long that they may soon take over what it holds. What
   * it does for runs and in sandboxes ends with that. Another one is there when it is back.
   */
  get inTouch(): AbortSignal {
    return this.contact.signal;
  }

  get isFresh(): boolean {
    return performance.now() - this.lastBeat < FRESH_MS;
  }

  private async beat(): Promise<void> {
    const isLate = !this.isFresh;
    try {
      await this.show();
      this.inARow = isLate ? 1 : this.inARow + 1;
      if (this.inARow % ROUND === 0) await this.round();
    } catch (error) {
      this.inARow = 0;
      this.log.warn({ err: error }, 'no sign of life could be given, or looked for');
    }
  }

  /** No disk is waited for: what is lost with the database server is given again at once. */
  private async show(): Promise<void> {
    const asked = performance.now();
    const found = this.signals.lookForOthers();
    const statement = sql<{ is_new: boolean; others: boolean }>`
      with quick as (select set_config('synchronous_commit', 'off', true) as setting)
      insert into process (id, seen_at) select ${this.id}, now() from quick
      on conflict (id) do update set seen_at = excluded.seen_at
      returning xmax = 0 as is_new, exists (select from process other where other.id <> ${this.id}) as others`;
    const { rows } = await withQueryDeadline(SHOW_MS, () => statement.execute(this.database.tables()));
    this.keepInTouch(asked);
    const [row] = rows;
    if (!row) return;
    found(row.others);
    // To others it was not there before: they may not have told it anything.
    if (row.is_new) this.signals.sayHello();
  }

  private keepInTouch(asked: number): void {
    this.lastBeat = asked;
    if (this.contact.signal.aborted) this.contact = newContact();
    clearTimeout(this.fence);
    this.fence = setTimeout(() => this.loseTouch(), asked + OUT_OF_TOUCH_MS - performance.now()).unref();
  }

  private loseTouch(): void {
    this.log.error(
      {},
      'out of touch with the database: what this process holds ends, others may take it over',
    );
    const reason = new Error('This process is out of touch with the database');
    this.contact.abort(Object.assign(reason, { code: 'ECONNABORTED' }));
  }

  private async round(): Promise<void> {
    const { rows } = await sql`
      delete from process where seen_at < now() - ${LOST_SECONDS} * interval '1 second' returning id`.execute(
      this.database.tables(),
    );
    if (rows.length > 0) this.signals.tellAll();
    for (const work of this.rounds) await work();
  }
}

function newContact(): AbortController {
  const contact = new AbortController();
  setMaxListeners(0, contact.signal);
  return contact;
}
