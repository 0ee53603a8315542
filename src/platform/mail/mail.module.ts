import { Global, Module } from '@nestjs/common';
import { MailJobs } from './mail.jobs.js';
import { MailOutbox } from './mail-outbox.js';
import { Mailer } from './mailer.js';
import { Smtp } from './smtp.js';

/** Outgoing mail, for every feature. */
@Global()
@Module({
  providers: [Mailer, MailOutbox, MailJobs, Smtp],
  exports: [Mailer],
})
export class MailModule {}
