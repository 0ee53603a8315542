import { describe, expect, it } from '@jest/globals';
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import { CountExchange, SharedCounter } from './shared-counter.js';

const LIMIT = 20;
const SECONDS = 60;

/** Counters of several processes that share their counts. */
function processes(maxCallers?: number) {
  const everywhere = new RateLimiterMemory({ points: LIMIT, duration: SECONDS });
  return [0, 1].map(() => {
    const exchange = new CountExchange(() => undefined);
    const counter = new SharedCounter({ limit: LIMIT, seconds: SECONDS, exchange, everywhere, maxCallers });
    return { counter, exchange };
  }) as [Process, Process];
}
type Process = { counter: SharedCounter; exchange: CountExchange };

const take = async (counter: SharedCounter, times: number, caller = 'ada') => {
  let count = 0;
  for (let turn = 0; turn < times; turn++) ({ consumedPoints: count } = await counter.take(caller));
  return count;
};

describe('a shared counter', () => {
  it('learns what others did, without counting its own twice', async () => {
    const [here, there] = processes();
    await take(here.counter, 6);
    await take(there.counter, 5);
    await here.exchange.run();
    await there.exchange.run();
    expect(await take(there.counter, 1)).toBe(12);
    expect(await take(here.counter, 2)).toBe(8);
    await here.exchange.run();
    expect(await take(here.counter, 1)).toBe(14);
  });

  it('tells the others nothing of what it refused', async () => {
    const [here, there] = processes();
    await take(here.counter, LIMIT + 30);
    await here.exchange.run();
    await take(there.counter, 2);
    await there.exchange.run();
    expect(await take(there.counter, 1)).toBe(LIMIT + 3);
  });

  it('says nothing of callers who do less than a tenth of the limit', async () => {
    const [here, there] = processes();
    await take(here.counter, 1);
    await here.exchange.run();
    await take(there.counter, 2);
    await there.exchange.run();
    expect(await take(there.counter, 1)).toBe(3);
  });

  it('takes back what belongs elsewhere, also from what the others learn', async () => {
    const [here, there] = processes();
    await take(here.counter, 4);
    await here.counter.giveBack('ada');
    await here.exchange.run();
    await take(there.counter, 2);
    await there.exchange.run();
    expect(await take(there.counter, 1)).toBe(6);
  });

  it.each([
    ['a count that is none', { consumedPoints: Number.NaN, msBeforeNext: 1_000 }],
    ['a count below its own', { consumedPoints: 1, msBeforeNext: 1_000 }],
    ['a window that never ends', { consumedPoints: 900, msBeforeNext: 1e12 }],
    ['a window without a length', { consumedPoints: 900, msBeforeNext: Number.NaN }],
    ['a window that is over', { consumedPoints: 900, msBeforeNext: 0 }],
  ])('locks out no caller by %s', async (_, answer) => {
    const everywhere = { penalty: async () => answer as RateLimiterRes };
    const exchange = new CountExchange(() => undefined);
    const counter = new SharedCounter({ limit: LIMIT, seconds: SECONDS, exchange, everywhere });
    await take(counter, 5);
    await exchange.run();
    expect(await take(counter, 1)).toBe(6);
  });

  it('goes on by its own counts while the others are out of reach, and tells them all later', async () => {
    let away = true;
    const all = new RateLimiterMemory({ points: LIMIT, duration: SECONDS });
    const everywhere = {
      penalty: (...told: Parameters<RateLimiterMemory['penalty']>) =>
        away ? Promise.reject(new Error('away')) : all.penalty(...told),
    };
    const failures: unknown[] = [];
    const exchange = new CountExchange(error => failures.push(error));
    const counter = new SharedCounter({ limit: LIMIT, seconds: SECONDS, exchange, everywhere });
    await take(counter, 5);
    await exchange.run();
    expect(await take(counter, 1)).toBe(6);
    await exchange.run();
    expect(failures).toEqual([new Error('away')]);
    away = false;
    await take(counter, 1);
    await exchange.run();
    expect((await all.get('ada'))?.consumedPoints).toBe(7);
  });

  it('forgets the oldest caller when there are too many', async () => {
    const [{ counter }] = processes(2);
    await take(counter, 5, 'ada');
    await take(counter, 5, 'bob');
    await take(counter, 5, 'cyd');
    expect(await take(counter, 1, 'bob')).toBe(6);
    expect(await take(counter, 1, 'ada')).toBe(1);
  });
});
