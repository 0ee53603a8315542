import { Global, Module } from '@nestjs/common';
import { DueTimers } from './due-timer.js';

/** What happens at a time that a row of the database says. */
@Global()
@Module({ providers: [DueTimers], exports: [DueTimers] })
export class ScheduleModule {}
