export { type DueTimer, DueTimers } from './due-timer.js';
export { ScheduleModule } from './schedule.module.js';
export { daysAfter, instantOf, isTimeZone, localTimeOf, weekdayOf } from './zoned-time.js';
