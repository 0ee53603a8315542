export type { DueTimer } from './due-timer.js';
export { DueTimers } from './due-timers.js';
export { ScheduleModule } from './schedule.module.js';
