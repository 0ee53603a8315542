import { type RawBuilder, sql } from 'kysely';
import type { Topics } from './topics.js';

declare const IS_TOPIC: unique symbol;

/** What is published and subscribed to: `run:0194…`. */
export type Topic = string & { readonly [IS_TOPIC]: true };

/** A kind of topic: one for each id, or one for all where there is no id. */
export interface TopicKind {
  (...ids: readonly string[]): Topic;
  /** The topic of an id that a statement finds. */
  sql(id: RawBuilder<unknown>): RawBuilder<Topic>;
}

const defined = new Set<string>();

/** Declares a kind of topic. Triggers and processes of other versions publish by its name: never change it. */
export function defineTopic(name: string): TopicKind {
  if (defined.has(name)) throw new Error(`The topic ${name} is defined twice`);
  defined.add(name);
  const of = (...ids: readonly string[]) => [name, ...ids].join(':') as Topic;
  return Object.assign(of, { sql: (id: RawBuilder<unknown>) => sql<Topic>`${`${name}:`}::text || ${id}` });
}

/** SQL that publishes a topic when its transaction commits. */
export const notifyTopic = (topic: Topic | RawBuilder<Topic>): RawBuilder<unknown> =>
  sql`notify_topic(${topic})`;

/**
 * Waits for a topic without missing it: subscribe, read the database, then wait. What is published while the subscriber reads
 * makes the next wait return at once.
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
