import { setTimeout as sleep } from 'node:timers/promises';
import { parseJson } from '#libs/exact-json/index.js';
import { isOutage } from '#libs/resilient-postgres/index.js';
import { Problem } from '../errors/index.js';
import { defineTopic } from '../topics/index.js';

const RETRY_MS = 500;

/** Published when there is something to do for a process that answers. */
export const serverTopic = defineTopic('rpc-server');
/** Published when a call has got further. */
export const callTopic = defineTopic('rpc-call');

export interface RpcHooks {
  /** Aborted when the caller does not want it any more: it is to come to its end soon. */
  readonly signal: AbortSignal;
  /** Gets text while the call runs; absent: it is not read. */
  readonly onOutput?: (text: string) => void;
}

/** Thrown by a handler that has done nothing, because it is not the one to ask: the call may be made again. */
export class NotHere extends Error {}

/** The process that answered is gone, or the database lost the call: what was done is not known. */
export class CallLost extends Error {
  constructor() {
    super('The process that answered the call is gone');
  }
}

export interface Request {
  readonly input: unknown;
  /** Whether the caller reads output. */
  readonly streams: boolean;
}

export type Outcome =
  | { readonly value: unknown }
  | { readonly problem: Pick<Problem, 'status' | 'detail' | 'headers'> }
  | { readonly fault: string };

export const messageOf = (message: Request | Outcome): Buffer => Buffer.from(JSON.stringify(message));

export const requestOf = (message: Buffer): Request => parseJson(message.toString()) as Request;

/** What the handler returned; throws what it threw. */
export function unwrap(message: Buffer): unknown {
  const outcome = parseJson(message.toString()) as Outcome;
  if ('value' in outcome) return outcome.value;
  if ('fault' in outcome) throw new Error(`Another process failed: ${outcome.fault}`);
  const { status, detail, headers } = outcome.problem;
  throw new Problem(status, detail, headers);
}

/** Retries while the database is unreachable. */
export async function retryOutages<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (;;)
    try {
      return await work();
    } catch (error) {
      if (!isOutage(error) || signal?.aborted) throw error;
      await sleep(RETRY_MS);
    }
}

/** What is written in between goes into one row. */
const FLUSH_MS = 40;

/** What a call writes while it runs, in order and some of it at a time. */
export class RpcOutput {
  private texts: string[] = [];
  private number = 0;
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> = Promise.resolve();

  constructor(private readonly save: (number: number, text: string) => Promise<void>) {}

  write(text: string): void {
    this.texts.push(text);
    this.timer ??= setTimeout(() => this.flush(), FLUSH_MS);
  }

  /** Resolves when all of it is saved; rejects where that failed. */
  end(): Promise<void> {
    clearTimeout(this.timer);
    this.flush();
    return this.flushing;
  }

  private flush(): void {
    this.timer = undefined;
    const text = this.texts.join('');
    if (text === '') return;
    this.texts = [];
    this.flushing = this.flushing.then(() => this.save(++this.number, text));
    // Its fault is thrown at the end.
    this.flushing.catch(() => undefined);
  }
}
