/** @isolated It defines topics, which can be defined once only. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Actor, accessTopic, credentialTopic } from '../../src/platform/access/index.js';
import { Config } from '../../src/platform/config/index.js';
import { RecentChecks } from '../../src/platform/credentials/index.js';
import { createLog } from '../../src/platform/log/index.js';
import { defineTopic, type Topic, Topics } from '../../src/platform/topics/index.js';
import { TestDatabase } from '../harness/database.js';

const news = defineTopic('news');
const more = defineTopic('more');
const NEWS = news();
const MORE = more();

describe('Topics of several processes', () => {
  let database: TestDatabase;
  const opened: Topics[] = [];

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
  async function open(...subscribed: Topic[]): Promise<{ topics: Topics; heard: Promise<void>[] }> {
    const config = Config.from({ DATABASE_URL: database.url, LOG_LEVEL: 'error' });
    const topics = new Topics({ connectionString: database.url }, createLog(config));
    opened.push(topics);
    const heard = subscribed.map(topic => next(topics, topic));
    await topics.onApplicationBootstrap();
    return { topics, heard };
  }

  const next = (topics: Topics, topic: Topic) =>
    new Promise<void>(resolve => {
      topics.subscribe(topic, resolve);
    });

  it('are heard by those that listen', async () => {
    const { topics } = await open();
    const other = await open();
    const heard = next(other.topics, NEWS);
    topics.publish(NEWS);
    await heard;
  });

  it('wake whoever begins to listen to a process that was alone, and reach them from then on', async () => {
    const { topics } = await open();
    topics.expectPeers()(false);
    expect(topics.hasSubscribers(NEWS)).toBe(false);
    // Told to nobody: the newcomer may have missed it.
    topics.publish(NEWS);
    const newcomer = await open(NEWS);
    await Promise.all(newcomer.heard);
    expect(topics.hasSubscribers(NEWS)).toBe(true);
    const heard = next(newcomer.topics, MORE);
    topics.publish(MORE);
    await heard;
  });

  it('go on to those who said hello while somebody looked whether they were there', async () => {
    const { topics } = await open();
    const found = topics.expectPeers();
    const newcomer = await open(NEWS);
    await Promise.all(newcomer.heard);
    found(false);
    expect(topics.hasSubscribers(NEWS)).toBe(true);
  });

  it('wake those whose hello was not heard, as soon as they are seen', async () => {
    const other = await open();
    const { topics } = await open();
    topics.expectPeers()(false);
    const heard = next(other.topics, NEWS);
    topics.publish(NEWS);
    topics.expectPeers()(true);
    await heard;
  });

  it('are counted by kind, but not without a connection', async () => {
    const kinds = [news, more];
    const config = Config.from({ DATABASE_URL: database.url, LOG_LEVEL: 'error' });
    const unconnected = new Topics({ connectionString: database.url }, createLog(config));
    expect(unconnected.mark(...kinds)).toBeUndefined();
    const { topics } = await open();
    const other = await open(NEWS);
    await Promise.all(other.heard); // The hello of the second process wakes everything, which counts, too.
    const [before, elsewhere] = [topics.mark(news), other.topics.mark(news)];
    topics.publish(MORE);
    expect(topics.mark(news)).toBe(before);
    expect(topics.mark(...kinds)).not.toBe(before);
    const heard = next(other.topics, NEWS);
    topics.publish(NEWS);
    expect(topics.mark(news)).not.toBe(before);
    await heard;
    expect(other.topics.mark(news)).not.toBe(elsewhere);
  });

  it('tell of a caller who was checked that nothing has changed since, until something may have', async () => {
    const { topics } = await open();
    const checks = new RecentChecks(topics);
    const ada = { type: 'user', id: 'ada' } as Actor;
    const found = await checks.noting(async () => ada);
    const mark = checks.markOf(ada);
    expect([found, mark]).toEqual([ada, expect.any(Number)]);
    topics.publish(NEWS);
    expect(checks.isNewest(mark)).toBe(true);
    // Whoever's access it is: it may be theirs.
    topics.publish(accessTopic('grace'));
    expect([checks.isNewest(mark), checks.markOf(ada)]).toEqual([false, undefined]);
    // What changes while they are looked up counts as a change after.
    await checks.noting(async () => {
      topics.publish(credentialTopic('key'));
      return ada;
    });
    expect(checks.markOf(ada)).toBeUndefined();
    expect(checks.markOf({ ...ada })).toBeUndefined();
    expect(checks.isNewest(undefined)).toBe(false);
  });

  it('are awaited where somebody waits in the same process', async () => {
    const { topics } = await open();
    topics.expectPeers()(false);
    const stop = topics.subscribe(NEWS, () => undefined);
    expect(topics.hasSubscribers(NEWS)).toBe(true);
    stop();
    expect(topics.hasSubscribers(NEWS)).toBe(false);
  });

  it('are published by one function of the database', async () => {
    const rows = await database.query(
      "select proname from pg_proc where pronamespace = 'public'::regnamespace and prosrc like '%pg_notify%'",
    );
    expect(rows).toEqual([{ proname: 'notify_topic' }]);
  });
});
