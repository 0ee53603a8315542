import { Injectable } from '@nestjs/common';
import { parseJson } from '#libs/exact-json/index.js';
import { Database } from '../../../platform/database/index.js';
import { Topics } from '../../../platform/topics/index.js';
import { decide } from '../preferences/preference.js';
import { PreferencesStore } from '../preferences/preferences.store.js';
import { SOURCES } from '../sources/sources.js';
import { SourcesStore } from '../sources/sources.store.js';
import { type Notice } from '../types/notice.js';
import { inboxTopic, NOTIFICATIONS_ADDED } from '../types/notification.js';
import { type TypeName } from '../types/types.js';
import { Dispatcher } from './dispatcher.js';
import { NotificationsStore } from './notifications.store.js';
import { RecipientsStore } from './recipients.store.js';

const AT_ONCE = 500;

/** Notifies people of an event, as words and recipients are when the job runs. Run again, it skips those who were notified. */
@Injectable()
export class Notifier {
  constructor(
    private readonly database: Database,
    private readonly topics: Topics,
    private readonly records: SourcesStore,
    private readonly recipients: RecipientsStore,
    private readonly preferences: PreferencesStore,
    private readonly notifications: NotificationsStore,
    private readonly dispatcher: Dispatcher,
  ) {}

  async notify({ type, facts }: { type: TypeName; facts: string }): Promise<void> {
    const notice = await SOURCES[type].compose(parseJson(facts) as object, this.records);
    if (!notice) return;
    const people = await this.recipients.findRecipients(type, notice);
    for (let at = 0; at < people.length; at += AT_ONCE)
      await this.notifySome(type, notice, people.slice(at, at + AT_ONCE));
  }

  private async notifySome(type: TypeName, notice: Notice, ids: readonly string[]): Promise<void> {
    const notified = await this.database.transaction(async unit => {
      const habits = await this.preferences.readAll(unit, ids);
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
    this.topics.publish(...notified.map(({ user_id }) => inboxTopic(user_id)));
  }
}
