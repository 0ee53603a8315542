import { Processor } from '@nestjs/bullmq';
import { JobProcessor, JobRunner, workerOptions } from '../../../platform/jobs/index.js';
import type { TypeName } from '../types/types.js';
import { DeliveryJobs } from './delivery.jobs.js';
import { deliverNotification, NOTIFICATIONS, notify, sendDigest } from './dispatcher.js';
import { Notifier } from './notifier.js';

/** Notifies people of what happened, and sends it where they want it. */
@Processor(NOTIFICATIONS, workerOptions({ concurrency: 8 }))
export class NotificationsProcessor extends JobProcessor {
  constructor(runner: JobRunner, notifier: Notifier, deliveries: DeliveryJobs) {
    super(runner);
    this.handle(notify, ({ type, facts }) => notifier.notify({ type: type as TypeName, facts }));
    this.handle(
      deliverNotification,
      payload => deliveries.deliver(payload),
      payload => deliveries.giveUp(payload),
    );
    this.handle(
      sendDigest,
      payload => deliveries.digest(payload),
      payload => deliveries.giveUpDigest(payload),
    );
  }
}
