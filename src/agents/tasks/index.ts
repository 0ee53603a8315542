export { RoundActivity, type RunTasks, TaskRunner } from './run-tasks.js';
export { TASK, TaskIntake } from './task-starter.js';
export { TasksModule } from './tasks.module.js';
