import { setMaxListeners } from 'node:events';
import { BeforeApplicationShutdown, Injectable, OnModuleInit } from '@nestjs/common';
import { problemOf } from '../errors/index.js';
import { Leases } from '../leases/index.js';
import { Log } from '../log/index.js';
import { Topics } from '../topics/index.js';
import {
  callTopic,
  messageOf,
  NotHere,
  type Outcome,
  type RpcHooks,
  RpcOutput,
  requestOf,
  retryOutages,
  serverTopic,
} from './message.js';
import { type CallRow, RpcStore } from './rpc.store.js';

type Handler = (input: never, hooks: RpcHooks) => Promise<unknown>;

/** Answers the calls of other processes. */
@Injectable()
export class RpcServer implements OnModuleInit, BeforeApplicationShutdown {
  private readonly handlers = new Map<string, Handler>();
  /** By the ids of calls. */
  private readonly running = new Map<
    string,
    { readonly stop: AbortController; readonly done: Promise<void> }
  >();
  private readonly closing = new AbortController();

  constructor(
    private readonly store: RpcStore,
    private readonly topics: Topics,
    private readonly leases: Leases,
    private readonly log: Log,
  ) {}

  onModuleInit(): void {
    const look = () =>
      this.look().catch(error =>
        this.log.warn({ err: error }, 'looking for calls failed; trying again later'),
      );
    this.topics.subscribe(serverTopic(this.leases.processId), () => void look());
    this.leases.recover('rpc-answer', look);
  }

  /** Begins no more calls, and ends those that it has. */
  async beforeApplicationShutdown(): Promise<void> {
    this.closing.abort();
    for (const { stop } of this.running.values()) stop.abort();
    await Promise.all([...this.running.values()].map(({ done }) => done));
  }

  /** Has `handler` answer the calls of a method in this process. */
  handle(method: string, handler: Handler): void {
    this.handlers.set(method, handler);
  }

  private async look(): Promise<void> {
    if (this.running.size > 0)
      for (const id of await this.store.cancelled([...this.running.keys()]))
        this.running.get(id)?.stop.abort();
    for (const call of await this.store.take()) {
      const stop = new AbortController();
      setMaxListeners(0, stop.signal);
      const done = this.answer(call, stop.signal)
        .catch(error => this.log.warn({ err: error }, 'the answer of a call could not be saved'))
        .finally(() => this.running.delete(call.id));
      this.running.set(call.id, { stop, done });
    }
  }

  private async answer({ id, method, input }: CallRow, signal: AbortSignal): Promise<void> {
    const output = new RpcOutput(async (number, text) => {
      await this.retryOutages(() => this.store.write(id, number, text));
      this.topics.publish(callTopic(id));
    });
    const request = requestOf(input);
    const onOutput = request.streams ? (text: string) => output.write(text) : undefined;
    const outcome = await this.outcomeOf(method, request.input, { signal, onOutput });
    await output.end();
    await this.retryOutages(() => this.store.end(id, outcome && messageOf(outcome)));
    this.topics.publish(callTopic(id));
  }

  /** Undefined where nothing was done. */
  private async outcomeOf(method: string, input: unknown, hooks: RpcHooks): Promise<Outcome | undefined> {
    const handler = this.handlers.get(method);
    if (!handler || this.closing.signal.aborted) return undefined;
    try {
      return { value: (await handler(input as never, hooks)) ?? null };
    } catch (error) {
      if (error instanceof NotHere) return undefined;
      const problem = problemOf(error);
      if (!problem) this.log.error({ err: error, method }, 'a call of another process failed');
      if (!problem) return { fault: (error as Error).message };
      const { status, detail, headers } = problem;
      return { problem: { status, detail, headers } };
    }
  }

  private retryOutages<T>(work: () => Promise<T>): Promise<T> {
    return retryOutages(work, this.closing.signal);
  }
}
