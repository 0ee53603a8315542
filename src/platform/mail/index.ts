export { type Letter, writeLetter } from './letter.js';
export { MailModule } from './mail.module.js';
export { MailProcessor } from './mail.processor.js';
export { Mailer } from './mailer.js';
