import { Injectable, OnApplicationShutdown } from '@nestjs/common';
import { Log } from '../log/index.js';
import type { SharedCounter } from './shared-counter.js';

const EVERY_MS = 200;

/** Exchanges counts with the other processes, one caller after the other, so that it never takes a second connection. */
@Injectable()
export class CountExchange implements OnApplicationShutdown {
  private waiting = new Map<SharedCounter, Set<string>>();
  private timer: NodeJS.Timeout | undefined;
  private last = Promise.resolve();
  private failing = false;

  constructor(private readonly log: Log) {}

  onApplicationShutdown(): void {
    clearTimeout(this.timer);
  }

  /** Exchanges this count soon. */
  add(counter: SharedCounter, caller: string): void {
    const callers = this.waiting.get(counter) ?? new Set();
    this.waiting.set(counter, callers.add(caller));
    this.timer ??= setTimeout(() => void this.run(), EVERY_MS).unref();
  }

  /** Exchanges what waits, now; what fails waits for its caller's next request. */
  run(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.last = this.last.then(() => this.shareAll());
    return this.last;
  }

  private async shareAll(): Promise<void> {
    const waiting = this.waiting;
    this.waiting = new Map();
    try {
      for (const [counter, callers] of waiting) for (const caller of callers) await counter.share(caller);
      this.failing = false;
    } catch (error) {
      if (!this.failing) this.log.warn({ err: error }, 'rate limits count in this process alone for now');
      this.failing = true;
    }
  }
}
