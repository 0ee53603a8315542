import { Injectable, OnModuleDestroy } from '@nestjs/common';
import { Config } from '../config/index.js';
import { Log } from '../log/index.js';

/** The time that a stopping process gives to work in flight: DRAIN_SECONDS for all features together. */
@Injectable()
export class DrainTimer implements OnModuleDestroy {
  private stopping: number | undefined;

  constructor(
    private readonly config: Config,
    private readonly log: Log,
  ) {}

  /** Every module is told so before the first of them waits. */
  onModuleDestroy(): void {
    this.stopping = performance.now();
    this.log.info({ drain_seconds: this.config.drainSeconds }, 'stopping');
  }

  /** Resolves when `work` has ended, or when DRAIN_SECONDS have passed since the process began to stop. */
  async wait(work: Iterable<Promise<unknown>>): Promise<void> {
    const { stopping = performance.now() } = this;
    const leftMs = stopping + this.config.drainSeconds * 1000 - performance.now();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>(resolve => {
      timer = setTimeout(resolve, Math.max(0, leftMs));
    });
    await Promise.race([Promise.allSettled(work), late]);
    clearTimeout(timer);
  }
}
