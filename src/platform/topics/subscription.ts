import type { Topic } from './topic.js';
import type { Topics } from './topics.js';

/**
 * Waits for a topic without missing it: subscribe first, look at the database, then wait. What is published while the
 * subscriber is looking makes the next wait return at once.
 */
export class Subscription {
  private isWoken = false;
  private resolve: (() => void) | undefined;
  private readonly unsubscribe: () => void;

  constructor(topics: Topics, topic: Topic) {
    this.unsubscribe = topics.subscribe(topic, () => this.wake());
  }

  wake(): void {
    this.isWoken = true;
    this.resolve?.();
  }

  /** Until the topic is published again, or `signal` is aborted. */
  async wait(signal: AbortSignal): Promise<void> {
    if (!this.isWoken && !signal.aborted) {
      const wake = () => this.wake();
      signal.addEventListener('abort', wake, { once: true });
      await new Promise<void>(resolve => {
        this.resolve = resolve;
      });
      signal.removeEventListener('abort', wake);
    }
    this.isWoken = false;
    this.resolve = undefined;
  }

  close(): void {
    this.unsubscribe();
  }
}
