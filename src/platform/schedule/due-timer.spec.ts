/** @isolated It defines a topic, which can be defined once only. */
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { Log } from '../log/index.js';
import { defineTopic } from '../topics/index.js';
import { DueTimer } from './due-timer.js';

/** Rows that are due at a time, and a topic that tells of new ones. */
class Table {
  readonly due: number[] = [];
  readonly taken: number[] = [];
  wake = () => undefined as unknown;
  fails = false;
  readonly topics = {
    subscribe: (_topic: string, wake: () => void) => {
      this.wake = wake;
      return () => {
        this.wake = () => undefined;
      };
    },
  } as never;

  async take(): Promise<number> {
    if (this.fails) throw new Error('away');
    const now = this.due.filter(at => at <= Date.now());
    for (const at of now) this.due.splice(this.due.indexOf(at), 1);
    this.taken.push(...now);
    return now.length;
  }

  async next(): Promise<number | undefined> {
    return this.due.length > 0 ? Math.min(...this.due) - Date.now() : undefined;
  }
}

const NEWS = defineTopic('news')();
const START = 1_800_000_000_000;
let table: Table;
let timer: DueTimer;

beforeEach(() => {
  jest.useFakeTimers({ now: START });
  table = new Table();
  const log = { warn: () => undefined } as unknown as Log;
  timer = new DueTimer(table.topics, log, {
    topic: NEWS,
    take: () => table.take(),
    next: () => table.next(),
    failure: 'away',
  });
});
afterEach(async () => {
  await timer.close();
  jest.useRealTimers();
});

it('sleeps until the next row is due', async () => {
  table.due.push(START + 3_000);
  await table.wake();
  await jest.advanceTimersByTimeAsync(2_900);
  expect(table.taken).toEqual([]);
  await jest.advanceTimersByTimeAsync(200);
  expect(table.taken).toEqual([START + 3_000]);
});

it('takes what is due when it is told of it', async () => {
  await jest.advanceTimersByTimeAsync(1);
  table.due.push(START);
  table.wake();
  await jest.advanceTimersByTimeAsync(1);
  expect(table.taken).toEqual([START]);
});

it('looks by itself where nobody tells it', async () => {
  await jest.advanceTimersByTimeAsync(1);
  table.due.push(START + 1);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(table.taken).toEqual([START + 1]);
});

it('tries again after a failure', async () => {
  table.fails = true;
  table.due.push(START);
  table.wake();
  await jest.advanceTimersByTimeAsync(1);
  table.fails = false;
  await jest.advanceTimersByTimeAsync(1_000);
  expect(table.taken).toEqual([START]);
});

it('takes nothing once it is closed', async () => {
  await jest.advanceTimersByTimeAsync(1);
  await timer.close();
  table.due.push(START);
  timer.wake();
  await jest.advanceTimersByTimeAsync(20_000);
  expect(table.taken).toEqual([]);
});
