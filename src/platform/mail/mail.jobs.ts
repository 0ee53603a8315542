import { defineJob } from '../jobs/index.js';

export const MAIL_QUEUE = 'mail';

/** Hand one mail of the outbox to the SMTP server. */
export const deliverMail = defineJob<{ mail_id: string }>(MAIL_QUEUE, 'deliver_mail');
