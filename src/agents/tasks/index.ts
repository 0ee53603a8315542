export { type CarryTask, Places, RequestedTasks, RunTasks, Stillness, type TaskPause } from './run-tasks.js';
export { TaskIntake, TaskStarter } from './task-starter.js';
export { TASK } from './task-tool.js';
export { TasksModule } from './tasks.module.js';
