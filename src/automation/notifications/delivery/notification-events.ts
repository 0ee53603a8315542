import { Injectable, OnModuleInit } from '@nestjs/common';
import { newId } from '../../../platform/database/index.js';
import { Events } from '../../../platform/events/index.js';
import { Jobs } from '../../../platform/jobs/index.js';
import { Topics } from '../../../platform/topics/index.js';
import { SOURCES } from '../sources/sources.js';
import { inboxTopic } from '../types/notification.js';
import { TYPE_NAMES } from '../types/types.js';
import { notify } from './dispatcher.js';
import { NotificationsStore } from './notifications.store.js';

/** Listens to the events of the table: in the transaction of an event, one job is enqueued for each type that it makes. */
@Injectable()
export class NotificationEvents implements OnModuleInit {
  constructor(
    private readonly events: Events,
    private readonly jobs: Jobs,
    private readonly topics: Topics,
    private readonly notifications: NotificationsStore,
  ) {}

  onModuleInit(): void {
    for (const type of TYPE_NAMES) {
      const source = SOURCES[type];
      this.events.on(source.on, async (unit, facts) => {
        if (source.isMeant(facts))
          await this.jobs.enqueue(unit, notify, newId(), { type, facts: JSON.stringify(facts) });
      });
      for (const { on, about } of source.settledBy ?? [])
        this.events.on(on, async (unit, facts) => {
          const people = await this.notifications.read(unit, type, about(facts));
          if (people.length > 0) this.topics.publishAfterCommit(unit, ...people.map(id => inboxTopic(id)));
        });
    }
  }
}
