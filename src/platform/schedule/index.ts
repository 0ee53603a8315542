export { CronSchedule, InvalidCron } from './cron.js';
export { DrainTimer } from './drain-timer.js';
export { type DueTimer, DueTimers } from './due-timer.js';
export { ScheduleModule } from './schedule.module.js';
