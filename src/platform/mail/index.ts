export { type Letter, writeLetter } from './letter.js';
export { MailProcessor } from './mail.jobs.js';
export { MailModule } from './mail.module.js';
export { Mailer } from './mailer.js';
