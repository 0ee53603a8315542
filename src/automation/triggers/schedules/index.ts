export { ScheduleFiring } from './schedule-firing.js';
export { ScheduleSetup } from './schedule-setup.js';
export { SchedulesStore } from './schedules.store.js';
