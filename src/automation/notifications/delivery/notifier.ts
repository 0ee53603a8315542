import { Injectable, OnApplicationBootstrap } from '@nestjs/common';
import { parseJson } from '#libs/exact-json/index.js';
import { Database, newId } from '../../../platform/database/index.js';
import { type EventKind, Events } from '../../../platform/events/index.js';
import { Jobs } from '../../../platform/jobs/index.js';
import { Topics } from '../../../platform/topics/index.js';
import { decide, PreferencesStore } from '../preferences/index.js';
import { inboxTopic, NOTIFICATIONS_ADDED, TYPE_NAMES, type TypeName } from '../types/index.js';
import { Dispatcher, notify } from './dispatcher.js';
import type { Notice } from './notice.js';
import { NotificationsStore } from './notifications.store.js';
import { RecipientsStore } from './recipients.store.js';

/** Puts what happened into words; undefined where it is gone, or no one is left to notify. */
export type Compose<Facts> = (facts: Facts) => Promise<Notice | undefined>;

/** How many people one transaction tells. */
const AT_ONCE = 500;

/**
 * Tells people what happened. Inside the transaction of an event one job is enqueued; the job finds words and recipients
 * as they are then, and dispatches. Run again, it tells only those who were not told.
 */
@Injectable()
export class Notifier implements OnApplicationBootstrap {
  private readonly sources = new Map<TypeName, Compose<never>>();

  constructor(
    private readonly database: Database,
    private readonly events: Events,
    private readonly jobs: Jobs,
    private readonly topics: Topics,
    private readonly recipients: RecipientsStore,
    private readonly preferences: PreferencesStore,
    private readonly notifications: NotificationsStore,
    private readonly dispatcher: Dispatcher,
  ) {}

  /** Tells of such events, all or those that `isMeant`, as a type; `compose` is given what the event was published with. */
  on<Facts extends object>(
    event: EventKind<Facts>,
    type: TypeName,
    compose: Compose<Facts>,
    isMeant: (facts: Facts) => boolean = () => true,
  ): void {
    if (this.sources.has(type)) throw new Error(`Two sources compose ${type}`);
    this.sources.set(type, compose as Compose<never>);
    this.events.on(event, async (unit, facts) => {
      if (isMeant(facts))
        await this.jobs.enqueue(unit, notify, newId(), { type, facts: JSON.stringify(facts) });
    });
  }

  /** With such an event nothing is left to do about notifications of that type: they count as read. */
  settledBy<Facts extends object>(
    event: EventKind<Facts>,
    type: TypeName,
    aboutOf: (facts: Facts) => string,
  ): void {
    this.events.on(event, async (unit, facts) => {
      const people = await this.notifications.read(unit, type, aboutOf(facts));
      if (people.length > 0) this.topics.publishAfterCommit(unit, ...people.map(id => inboxTopic(id)));
    });
  }

  onApplicationBootstrap(): void {
    const silent = TYPE_NAMES.filter(type => !this.sources.has(type));
    if (silent.length > 0) throw new Error(`No source composes ${silent.join(', ')}`);
  }

  async tell({ type, facts }: Record<'type' | 'facts', string>): Promise<void> {
    const compose = this.sources.get(type as TypeName);
    if (!compose) throw new Error(`No source composes ${type}`);
    const notice = await compose(parseJson(facts) as never);
    if (!notice) return;
    const people = await this.recipients.of(type as TypeName, notice);
    for (let at = 0; at < people.length; at += AT_ONCE)
      await this.tellSome(type as TypeName, notice, people.slice(at, at + AT_ONCE));
  }

  private async tellSome(type: TypeName, notice: Notice, ids: readonly string[]): Promise<void> {
    const told = await this.database.transaction(async unit => {
      const habits = await this.preferences.ofAll(unit, ids);
      const { organization_id } = notice;
      const people = [...habits].map(([id, { preferences }]) => ({
        id,
        isListed: decide(preferences, { type, organization_id }, 'in_app').mode === 'on',
      }));
      const added = await this.notifications.add(unit, type, notice, people);
      await this.dispatcher.dispatch(
        unit,
        added.flatMap(notification => {
          const own = habits.get(notification.user_id);
          return own ? [{ notification, habits: own }] : [];
        }),
      );
      if (added.length > 0) await this.topics.publishWithCommit(unit, NOTIFICATIONS_ADDED);
      return added;
    });
    this.topics.publish(...told.map(({ user_id }) => inboxTopic(user_id)));
  }
}
