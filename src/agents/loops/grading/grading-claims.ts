import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/index.js';
import { problemOf } from '../../../platform/errors/index.js';
import { Leases } from '../../../platform/leases/index.js';
import { Log } from '../../../platform/log/index.js';
import { DrainTimer } from '../../../platform/schedule/index.js';
import { Topics } from '../../../platform/topics/index.js';
import { RunsStore, UNATTENDED_ENDS } from '../../runs/index.js';
import { type LoopRow, LoopsStore, LoopWriter, loopTopic } from '../records/index.js';
import { LoopEnds } from '../running/index.js';
import { Grading } from './grading.js';

/** Loops that one process grades at once. */
const MAX_AT_ONCE = 8;
/** After a fault it is tried again so often, so many seconds later. */
const MAX_FAILURES = 5;
const RETRY_SECONDS = 10;
const PAUSE_MS = 1_000;

/** Takes loops whose runs have ended, each by one process at a time, and those that a process which is gone was grading. */
@Injectable()
export class GradingClaims {
  private readonly working = new Map<string, Promise<void>>();
  private readonly closing = new AbortController();

  constructor(
    private readonly database: Database,
    private readonly loops: LoopsStore,
    private readonly writer: LoopWriter,
    private readonly grading: Grading,
    private readonly ends: LoopEnds,
    private readonly runs: RunsStore,
    private readonly leases: Leases,
    private readonly topics: Topics,
    private readonly drain: DrainTimer,
    private readonly log: Log,
  ) {}

  /** What does not end in time is given up, and taken by another process. */
  async close(): Promise<void> {
    await this.drain.wait(this.working.values());
    this.closing.abort(new Error('The service is stopping'));
    await Promise.allSettled(this.working.values());
  }

  /** Takes one, whose grading goes on; how many. `onFree` is called when there is room for another. */
  async take(onFree: () => void): Promise<number> {
    if (this.working.size >= MAX_AT_ONCE) return 0;
    await this.leases.requireFresh();
    const loop = await this.database.transaction(async unit => {
      const found = await this.loops.ended(unit);
      if (found?.state !== 'running') return found && this.writer.regrade(unit, found.id);
      const { call_id } = found;
      const run = call_id === null ? undefined : await this.runs.find(call_id, unit);
      const used = call_id === null ? { usd: 0, seconds: 0 } : await this.loops.used(unit, call_id);
      return this.writer.grade(unit, found, used, run?.stop_reason ?? null);
    });
    if (!loop) return 0;
    const work = this.grade(loop).finally(() => {
      this.working.delete(loop.id);
      onFree();
    });
    this.working.set(loop.id, work);
    return 1;
  }

  private async grade(loop: LoopRow): Promise<void> {
    const stopped = this.watch(loop);
    const signal = AbortSignal.any([this.closing.signal, this.leases.signal, stopped.signal]);
    try {
      await this.grading.grade(loop, signal);
    } catch (error) {
      if (stopped.signal.aborted) return;
      await this.giveBack(loop, error);
    } finally {
      stopped.close();
    }
  }

  /** Until that is written down, as nobody else takes what this process has; when it is gone, others do. */
  private async giveBack(loop: LoopRow, error: unknown): Promise<void> {
    for (;;)
      try {
        return await this.afterFault(loop, error);
      } catch (fault) {
        this.log.warn({ err: fault, loop_id: loop.id }, 'a loop was not given back; trying again');
        if (this.closing.signal.aborted) return;
        await sleep(PAUSE_MS);
      }
  }

  /** Another attempt follows, here or elsewhere, unless there were enough. */
  private async afterFault(loop: LoopRow, error: unknown): Promise<void> {
    const { id, grading_failures } = loop;
    const isClosing = this.closing.signal.aborted || this.leases.signal.aborted;
    if (!isClosing) this.log.warn({ err: error, loop_id: id }, 'an iteration was not graded; trying again');
    if (!isClosing && grading_failures + 1 >= MAX_FAILURES) {
      const why = problemOf(error)?.detail ?? 'a fault of the service; its operator finds more in the log';
      await this.ends.endNow(
        id,
        { outcome: 'error', reason: `It could not be graded: ${why}` },
        { isOurs: true },
      );
      return;
    }
    const again = isClosing ? { seconds: 0, hasFailed: false } : { seconds: RETRY_SECONDS, hasFailed: true };
    await this.database.transaction(async unit => {
      await this.writer.release(unit, id, again);
      await this.topics.publishOnCommit(unit, UNATTENDED_ENDS);
    });
  }

  /** Aborted when the loop is not in its grading any more: somebody stopped it. */
  private watch({ id }: LoopRow): { signal: AbortSignal; close: () => void } {
    const stopped = new AbortController();
    const look = async () => {
      try {
        if ((await this.loops.find(id))?.state !== 'grading')
          stopped.abort(new Error('The loop was stopped'));
      } catch (error) {
        this.log.warn({ err: error, loop_id: id }, 'whether a loop goes on is not known');
      }
    };
    const close = this.topics.subscribe(loopTopic(id), () => void look());
    void look();
    return { signal: stopped.signal, close };
  }
}
