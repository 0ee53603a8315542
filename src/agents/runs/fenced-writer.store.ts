import { type RawBuilder, sql } from 'kysely';
import { hardStopOver } from '../../identity/billing/index.js';
import type { Database, UnitOfWork } from '../../platform/database/index.js';
import type { Topics } from '../../platform/topics/index.js';
import { chatTopic, type MessagePart } from '../chats/index.js';
import { Steering } from './run-limits.js';
import { eventRows, FENCED } from './run-rows.store.js';
import { type NewEvent, RunLost, type RunRow, runTopic } from './run-state.js';

type Sql = RawBuilder<unknown>;

interface Written {
  steers: number;
  hard_stop: boolean;
  has_next: boolean;
  /** Of the message that was written with it. */
  content?: MessagePart[];
}

/** What one statement does beside its events. */
interface Writing {
  /** To the run's row. */
  change?: Sql;
  also?: Sql[];
  /** What `where` goes by. */
  first?: Sql;
  where?: Sql;
  /** Whether another run may go now. */
  hasNext?: Sql;
  /** Whether it writes a message. */
  says?: boolean;
  unit?: UnitOfWork;
}

/**
 * Statements of one attempt at a run: the change and its events are committed together, and only while this attempt is the
 * newest and the run has not ended. Topics are published after the commit.
 */
export class FencedWriter {
  private mayStop = true;

  /** `steering` learns with each write how many messages wait to enter the run. */
  constructor(
    protected readonly database: Database,
    protected readonly topics: Topics,
    readonly run: Pick<RunRow, 'id' | 'chat_id' | 'number' | 'attempt'>,
    readonly steering = new Steering(),
  ) {}

  /** Whether anybody may follow the run, or its chat. */
  isWatched(): boolean {
    const { id, chat_id } = this.run;
    return [runTopic(id), chatTopic(chat_id)].some(topic => this.topics.hasSubscribers(topic));
  }

  /** What the database says of the run. */
  note({ steers, hard_stop }: Pick<Written, 'steers' | 'hard_stop'>): void {
    this.steering.note(steers);
    this.mayStop = hard_stop;
  }

  /**
   * Whether a hard stop may stand over the run: not where the last write found none. That counts once, for the model call
   * that follows.
   */
  mayBeStopped(): boolean {
    const { mayStop } = this;
    this.mayStop = true;
    return mayStop;
  }

  protected async record(events: NewEvent[], writing: Writing): Promise<Written> {
    const written = await this.write(events, writing);
    if (!written) throw new RunLost();
    return written;
  }

  /** Undefined where the run is not this attempt's any more, or not as `where` wants it. */
  protected async write(
    events: NewEvent[],
    { change, first, where, also = [], hasNext = sql`false`, says = false, unit }: Writing,
  ): Promise<Written | undefined> {
    const { id, attempt } = this.run;
    const { rows } = await sql<Written>`
      with ${first ?? sql``} fenced as (
        update run set last_event = last_event + ${events.length} ${change ? sql`, ${change}` : sql``}
        where id = ${id} and attempt = ${attempt} and status = 'pending' ${where ? sql`and ${where}` : sql``}
        returning id, last_event, organization_id, workspace_id, chat_id, number, created_by, model, steers
      ), ${sql.join([sql`told as (${eventRows(FENCED, events)})`, ...also])}
      select steers, ${hardStopOver(FENCED)} as hard_stop, ${hasNext} as has_next
        ${says ? sql`, said.content from fenced, said` : sql`from fenced`}`.execute(
      (unit ?? this.database).tables(),
    );
    const [now] = rows;
    if (!now) return undefined;
    this.note(now);
    const publish = () => this.topics.publish(runTopic(id));
    if (unit) unit.afterCommit(publish);
    else publish();
    return now;
  }
}
