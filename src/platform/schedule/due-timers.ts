import { BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Log } from '../log/index.js';
import { Topics } from '../topics/index.js';
import { type DueRows, DueTimer } from './due-timer.js';

/** Starts the timers of this process, and stops them with it. */
@Injectable()
export class DueTimers implements BeforeApplicationShutdown {
  private readonly timers: DueTimer[] = [];

  constructor(
    private readonly topics: Topics,
    private readonly log: Log,
  ) {}

  start(rows: DueRows): DueTimer {
    const timer = new DueTimer(this.topics, this.log, rows);
    this.timers.push(timer);
    return timer;
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.timers.map(timer => timer.close()));
  }
}
