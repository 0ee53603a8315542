export { RequestedTasks } from './requested-tasks.js';
export { type CarryTask, Places, RunTasks, Stillness, type TaskPause } from './run-tasks.js';
export { TaskIntake } from './task-intake.js';
export { TaskStarter } from './task-starter.js';
export { TASK } from './task-tool.js';
export { TasksModule } from './tasks.module.js';
