export { type OpenPage, PageSessions } from './page-sessions.js';
export { PageSessionsModule } from './page-sessions.module.js';
export { type PersonAtPage, PersonPages } from './person-pages.js';
export { SignIns } from './sign-ins.store.js';
