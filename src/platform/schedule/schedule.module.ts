import { Global, Module } from '@nestjs/common';
import { DrainTimer } from './drain-timer.js';
import { DueTimers } from './due-timer.js';

/** What happens at a time that a row of the database says. */
@Global()
@Module({ providers: [DrainTimer, DueTimers], exports: [DrainTimer, DueTimers] })
export class ScheduleModule {}
