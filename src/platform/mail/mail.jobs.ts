import { defineJob } from '../jobs/job-queue.js';

export const MAIL_QUEUE = 'mail';

/** Hand one mail of the outbox to the SMTP server. */
export const deliverMail = defineJob<{ mail_id: string }>(MAIL_QUEUE, 'deliver_mail');
