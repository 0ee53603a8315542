import { Injectable } from '@nestjs/common';
import { Database, type UnitOfWork } from '../../../platform/database/index.js';
import { Events } from '../../../platform/events/index.js';
import { type EndOptions, type LoopEnd, type LoopRow, LoopWriter, loopFinished } from '../records/index.js';

/** Ends loops, and tells of it. */
@Injectable()
export class LoopEnds {
  constructor(
    private readonly database: Database,
    private readonly writer: LoopWriter,
    private readonly events: Events,
  ) {}

  /** Once; Undefined where it had ended. */
  async end(
    unit: UnitOfWork,
    id: string,
    end: LoopEnd,
    options: EndOptions = {},
  ): Promise<LoopRow | undefined> {
    const ended = await this.writer.end(unit, id, end, options);
    // Whoever stopped it knows.
    if (ended && end.outcome !== 'stopped') await this.events.publish(unit, loopFinished, { loop_id: id });
    return ended;
  }

  /** As {@link end}, in a transaction of its own. */
  endNow(id: string, end: LoopEnd, options?: EndOptions): Promise<LoopRow | undefined> {
    return this.database.transaction(unit => this.end(unit, id, end, options));
  }
}
