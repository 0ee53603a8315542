import { defineJob } from '../../../platform/jobs/index.js';

export const ACCOUNT_QUEUE = 'accounts';

/**
 * Mail a link to whoever has this address, if anyone. It carries the address and not an id, as whether there is an account
 * is only looked up where nobody can measure how long that takes.
 */
export const mailPasswordReset = defineJob<{ email: string }>(ACCOUNT_QUEUE, 'mail_password_reset');
