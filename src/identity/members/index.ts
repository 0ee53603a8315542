export { memberRemoved } from './members.events.js';
export { MembersModule } from './members.module.js';
