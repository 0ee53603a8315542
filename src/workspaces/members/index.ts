export { WorkspaceMembersModule } from './members.module.js';
