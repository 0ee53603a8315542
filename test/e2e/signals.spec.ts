import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Config } from '../../src/platform/config/index.js';
import { createLog } from '../../src/platform/log/index.js';
import { Signals } from '../../src/platform/topics/index.js';
import { TestDatabase } from '../harness/database.js';

describe('Signals of several processes', () => {
  let database: TestDatabase;
  const opened: Signals[] = [];

  beforeAll(async () => {
    database = await TestDatabase.create();
  });

  afterEach(async () => {
    await Promise.all(opened.splice(0).map(one => one.onApplicationShutdown()));
  });

  afterAll(async () => {
    await database.drop();
  });

  /** What one process has; `topics` it waits for, each a promise of the next signal. */
  async function open(...topics: string[]): Promise<{ signals: Signals; heard: Promise<void>[] }> {
    const config = Config.from({ DATABASE_URL: database.url, LOG_LEVEL: 'error' });
    const signals = new Signals({ connectionString: database.url }, createLog(config));
    opened.push(signals);
    const heard = topics.map(topic => next(signals, topic));
    await signals.onApplicationBootstrap();
    return { signals, heard };
  }

  const next = (signals: Signals, topic: string) =>
    new Promise<void>(resolve => {
      signals.subscribe(topic, resolve);
    });

  it('are heard by those that listen', async () => {
    const { signals } = await open();
    const other = await open();
    const heard = next(other.signals, 'news');
    signals.tell('news');
    await heard;
  });

  it('wake whoever begins to listen to a process that was alone, and reach them from then on', async () => {
    const { signals } = await open();
    signals.lookForOthers()(false);
    expect(signals.isAwaited('news')).toBe(false);
    // Told to nobody: the newcomer may have missed it.
    signals.tell('news');
    const newcomer = await open('news');
    await Promise.all(newcomer.heard);
    expect(signals.isAwaited('news')).toBe(true);
    const heard = next(newcomer.signals, 'more');
    signals.tell('more');
    await heard;
  });

  it('go on to those who said hello while somebody looked whether they were there', async () => {
    const { signals } = await open();
    const found = signals.lookForOthers();
    const newcomer = await open('news');
    await Promise.all(newcomer.heard);
    found(false);
    expect(signals.isAwaited('news')).toBe(true);
  });

  it('wake those whose hello was not heard, as soon as they are seen', async () => {
    const other = await open();
    const { signals } = await open();
    signals.lookForOthers()(false);
    const heard = next(other.signals, 'news');
    signals.tell('news');
    signals.lookForOthers()(true);
    await heard;
  });

  it('are awaited where somebody waits in the same process', async () => {
    const { signals } = await open();
    signals.lookForOthers()(false);
    const stop = signals.subscribe('news', () => undefined);
    expect(signals.isAwaited('news')).toBe(true);
    stop();
    expect(signals.isAwaited('news')).toBe(false);
  });
});
