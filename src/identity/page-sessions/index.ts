export { type OpenPage, PageSessions } from './page-sessions.js';
export { PageSessionsModule } from './page-sessions.module.js';
export { SignIns } from './sign-ins.store.js';
