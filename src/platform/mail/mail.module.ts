import { BullModule } from '@nestjs/bullmq';
import { Global, Module } from '@nestjs/common';
import { MAIL, MailProcessor } from './mail.jobs.js';
import { MailOutbox } from './mail-outbox.js';
import { Mailer } from './mailer.js';
import { Smtp } from './smtp.js';

/** Outgoing mail, for every feature. */
@Global()
@Module({
  imports: [BullModule.registerQueue({ name: MAIL })],
  providers: [Mailer, MailOutbox, MailProcessor, Smtp],
  exports: [Mailer],
})
export class MailModule {}
