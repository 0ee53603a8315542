/** @isolated It defines topics, which can be defined once only. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Config } from '../../../src/platform/config/index.js';
import { createLog } from '../../../src/platform/log/index.js';
import { defineTopic, type Peer, type Topic, Topics } from '../../../src/platform/topics/index.js';
import { TestDatabase } from '../../harness/database.js';

const news = defineTopic('news');
const more = defineTopic('more');
const NEWS = news();
const MORE = more();

describe('Topics of several processes', () => {
  let database: TestDatabase;
  const opened: Topics[] = [];
  const ids = new Map<Topics, string>();

  beforeAll(async () => {
    database = await TestDatabase.create();
  });

  afterEach(async () => {
    await Promise.all(opened.splice(0).map(one => one.onApplicationShutdown()));
    await database.query('delete from process');
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
      topics.subscribe(topic, () => resolve());
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
    topics.expectPeers()([]);
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
    found([]);
    expect(topics.hasSubscribers(NEWS)).toBe(true);
  });

  it('wake those whose hello was not heard, as soon as they are seen', async () => {
    const other = await open();
    const { topics } = await open();
    topics.expectPeers()([]);
    const heard = next(other.topics, NEWS);
    topics.publish(NEWS);
    topics.expectPeers()([{ id: 'other', listens_to: null }]);
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

  it('are awaited where somebody waits in the same process', async () => {
    const { topics } = await open();
    topics.expectPeers()([]);
    const stop = topics.subscribe(NEWS, () => undefined);
    expect(topics.hasSubscribers(NEWS)).toBe(true);
    stop();
    expect(topics.hasSubscribers(NEWS)).toBe(false);
  });

  /** As one whose row others see: they know what it listens to. */
  async function joined(...subscribed: Topic[]): Promise<Awaited<ReturnType<typeof open>> & { id: string }> {
    const id = randomUUID();
    await database.query('insert into process (id, seen_at) values ($1, now())', [id]);
    const process = await open(...subscribed);
    process.topics.announce(id);
    ids.set(process.topics, id);
    return { ...process, id };
  }

  /** Looks until `isSo`, as every heartbeat does. */
  async function look(topics: Topics, isSo: () => boolean): Promise<void> {
    for (;;) {
      const found = topics.expectPeers();
      const others = await database.query<Peer>('select id, listens_to from process where id <> $1', [
        ids.get(topics),
      ]);
      found(others);
      if (isSo()) return;
      await sleep(20);
    }
  }

  it('are not sent where nothing listens to their kind, and wake who begins to', async () => {
    const { topics } = await joined();
    const other = await joined(MORE);
    await look(topics, () => !topics.hasSubscribers(NEWS));
    expect(topics.hasSubscribers(MORE)).toBe(true);
    topics.publish(NEWS);
    // It may have missed what was published before.
    await next(other.topics, NEWS);
    while (!topics.hasSubscribers(NEWS)) await sleep(5);
    const heard = next(other.topics, news('of', 'one'));
    topics.publish(news('of', 'one'));
    await heard;
  });

  it('say whether they were published, or may have been', async () => {
    const { topics } = await joined();
    const other = await joined();
    await look(topics, () => !topics.hasSubscribers(NEWS));
    const heard: boolean[] = [];
    other.topics.subscribe(NEWS, wasPublished => heard.push(wasPublished));
    while (heard.length === 0) await sleep(5);
    expect(heard).not.toContain(true);
    // A hello may have woken it before the other process knows what it listens to.
    while (!topics.hasSubscribers(NEWS)) await sleep(5);
    topics.publish(NEWS);
    while (!heard.includes(true)) await sleep(5);
    other.topics.publishEverything();
    expect(heard.at(-1)).toBe(false);
  });

  it('are sent all to a process that does not say what it listens to', async () => {
    const { topics } = await joined();
    const other = await open();
    await database.query('insert into process (id, seen_at) values ($1, now())', [randomUUID()]);
    await look(topics, () => true);
    expect([NEWS, MORE].map(topic => topics.hasSubscribers(topic))).toEqual([true, true]);
    const heard = next(other.topics, MORE);
    topics.publish(MORE);
    await heard;
  });

  it('are counted as soon as others know that they are, and change with that', async () => {
    const { topics } = await joined();
    const other = await joined();
    await look(topics, () => !topics.hasSubscribers(NEWS));
    await look(other.topics, () => !other.topics.hasSubscribers(NEWS));
    expect(other.topics.mark(news)).toBeUndefined();
    topics.publish(NEWS);
    const known = async () => {
      while (other.topics.mark(news) === undefined) await sleep(5);
      return other.topics.mark(news);
    };
    const before = await known();
    await look(topics, () => topics.hasSubscribers(NEWS));
    const heard = next(other.topics, NEWS);
    topics.publish(NEWS);
    await heard;
    expect(other.topics.mark(news)).not.toBe(before);
  });

  it('are published by one function of the database', async () => {
    const rows = await database.query(
      "select proname from pg_proc where pronamespace = 'public'::regnamespace and prosrc like '%pg_notify%'",
    );
    expect(rows).toEqual([{ proname: 'notify_topic' }]);
  });
});
