import { Global, Module } from '@nestjs/common';
import { MailJobs, Smtp } from './mail.jobs.js';
import { MailOutbox } from './mail-outbox.js';
import { Mailer } from './mailer.js';

/** Outgoing mail, for every feature. */
@Global()
@Module({
  providers: [Mailer, MailOutbox, MailJobs, Smtp],
  exports: [Mailer],
})
export class MailModule {}
